"""Functions and programs started in several processes, from Python (torch.distributed.launcher)."""

from rushlight.distributed.launcher.api import LaunchConfig, elastic_launch, launch_agent

__all__ = ["LaunchConfig", "elastic_launch", "launch_agent"]
