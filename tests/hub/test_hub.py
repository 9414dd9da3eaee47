"""torch.hub: models of a folder, a repository that is kept, weights by URL (file:// needs no network)."""

import hashlib
import zipfile

import pytest

import rushlight as torch
from rushlight import hub
from rushlight.hub import github

HUBCONF = '''
dependencies = ["numpy"]
from helper import Net as _Net

def small(size, scale=1.0):
    """A small one."""
    return _Net(size, scale)

number = 3
'''


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "repo"
    folder.mkdir()
    (folder / "hubconf.py").write_text(HUBCONF)
    (folder / "helper.py").write_text("class Net:\n    def __init__(self, *how):\n        self.how = how\n")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "_chosen", [])
    hub.set_dir(tmp_path / "cache")
    return tmp_path / "cache"


def test_a_folder(repository):
    assert torch.hub.load(str(repository), "small", 4, scale=2.0, source="local").how == (4, 2.0)
    with pytest.raises(RuntimeError, match="Cannot find callable big in hubconf"):
        torch.hub.load(str(repository), "big", source="local")
    with pytest.raises(RuntimeError, match="Cannot find callable number"):
        torch.hub.load(str(repository), "number", source="local")
    with pytest.raises(ValueError, match="Unknown source"):
        torch.hub.load(str(repository), "small", source="ftp")
    with pytest.raises(ValueError, match="should be a string"):
        torch.hub.load(str(repository), 3, source="local")
    (repository / "hubconf.py").write_text('dependencies = ["no_such_thing"]\ndef small(): pass\n')
    with pytest.raises(RuntimeError, match="Missing dependencies: no_such_thing"):
        torch.hub.load(str(repository), "small", source="local")


def test_a_kept_repository(repository, cache, capsys):
    cache.mkdir()
    repository.rename(cache / "someone_models_v1")
    assert hub.list("someone/models:v1") == ["small"]
    assert hub.help("someone/models:v1", "small") == "A small one."
    assert hub.load("someone/models:v1", "small", 1, verbose=False).how == (1, 1.0)
    assert capsys.readouterr().err.count("Using cache found in") == 2
    with pytest.raises(ValueError, match="owner/name"):
        hub.load("models", "small")


def test_a_repository_is_fetched(repository, cache, monkeypatch, tmp_path):
    with zipfile.ZipFile(tmp_path / "zipball", "w") as archive:
        for file in ("hubconf.py", "helper.py"):
            archive.write(repository / file, f"someone-models-1234/{file}")
    monkeypatch.setattr(github, "urlopen", lambda url: open(tmp_path / "zipball", "rb"))
    monkeypatch.setattr("builtins.input", lambda question: "n")
    with pytest.raises(Exception, match="Untrusted repository"):
        hub.load("someone/models:v1", "small", 1, skip_validation=True)
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert hub.load("someone/models:v1", "small", 1, skip_validation=True).how == (1, 1.0)
    assert (cache / "trusted_list").read_text() == "someone_models\n"
    assert sorted(p.name for p in cache.iterdir()) == ["someone_models_v1", "trusted_list"]


@pytest.mark.parametrize("name", ["../out", "/out", "a/../../out", "C:\\out"])
def test_archives_stay_inside(name, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr(name, "x")
    with pytest.raises(ValueError, match="escapes"):
        github._unpack(str(tmp_path / "a.zip"), str(tmp_path / "into"))


def test_weights_by_url(cache, tmp_path, capsys):
    state = {"w": torch.arange(3)}
    torch.save(state, tmp_path / "w.pt")
    digest = hashlib.sha256((tmp_path / "w.pt").read_bytes()).hexdigest()
    name = f"w-{digest[:8]}.pt"
    (tmp_path / "w.pt").rename(tmp_path / name)
    url = (tmp_path / name).as_uri()
    for _ in range(2):
        assert torch.hub.load_state_dict_from_url(url, check_hash=True)["w"].tolist() == [0, 1, 2]
    assert capsys.readouterr().out.count("Downloading") == 1
    assert [p.name for p in (cache / "checkpoints").iterdir()] == [name]
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00"'):
        hub.download_url_to_file(url, str(tmp_path / "again"), "00", progress=False)
    assert not list(tmp_path.glob("again*"))


def test_the_folder(monkeypatch, tmp_path):
    monkeypatch.setattr(hub, "_chosen", [])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("TORCH_HOME", raising=False)
    assert hub.get_dir() == str(tmp_path / "torch" / "hub")
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert hub.get_dir() == str(tmp_path / "home" / "hub")
