"""Summaries by themselves: the same bytes as a SummaryWriter's."""

import shutil

import pytest

import rushlight as torch
from rushlight.utils.tensorboard import FileWriter, SummaryWriter, summary


def written(folder):
    (file,) = folder.glob("events*")
    return file.read_bytes()


def test_summaries_are_what_writers_write(tmp_path):
    mine, theirs = FileWriter(tmp_path / "a"), SummaryWriter(tmp_path / "b")
    data = torch.arange(6.0)
    for one in (
        summary.scalar("s", 0.5),
        summary.scalar("n", 0.5, new_style=True, double_precision=True),
        summary.histogram("h", data),
        summary.text("t", "said"),
        summary.image("i", data.view(1, 1, 2, 3) / 6),
    ):
        mine.add_summary(one, 3, 1.0)
    theirs.add_scalar("s", 0.5, 3, 1.0)
    theirs.add_scalar("n", 0.5, 3, 1.0, new_style=True, double_precision=True)
    theirs.add_histogram("h", data, 3, walltime=1.0)
    theirs.add_text("t", "said", 3, 1.0)
    theirs.add_images("i", data.view(1, 1, 2, 3) / 6, 3, 1.0)
    mine.close()
    theirs.close()
    head = len(written(tmp_path / "a")) - 16  # the first event tells the time
    assert written(tmp_path / "a")[-head + 30 :] == written(tmp_path / "b")[-head + 30 :] and head > 300


def test_hyperparameters_come_in_three():
    experiment, begin, end = summary.hparams({"lr": 0.1, "name": "x"}, {"loss": 0.0})
    assert b"_hparams_/experiment" in experiment.SerializeToString()
    assert b"_hparams_/session_start_info" in begin.SerializeToString()
    assert b"_hparams_/session_end_info" in end.SerializeToString()


def test_histograms_that_were_counted_before(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram_raw("h", 0, 3, 4, 6.0, 14.0, [1.0, 2.0, 3.0], [1, 1, 2])
        writer._get_file_writer().add_summary(summary.scalar("s", 1.0))
    with pytest.raises(ValueError, match="see the document"):
        writer.add_histogram_raw("h", 0, 3, 4, 6.0, 14.0, [1.0], [1, 1])


def test_a_directory_that_is_gone_when_the_writer_ends(tmp_path):
    writer = SummaryWriter(tmp_path / "gone")
    writer.add_scalar("s", 1.0)
    shutil.rmtree(tmp_path / "gone")
    writer.close()
