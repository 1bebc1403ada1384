# SPDX-License-Identifier: Apache-2.0
"""A real SLURM on this machine: munged, slurmctld, and a slurmd for each node. It runs in namespaces of its own (unshare
--pid --net --mount-proc), so its ports collide with nothing and the system ends all of it with the first process."""
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import time

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
KillWait=2
JobRequeue=0
MaxArraySize={max_tasks}
SchedulerParameters=bf_interval=1,sched_interval=2,batch_sched_delay=0
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def wait_for(condition, seconds=300):
    """Polls until the condition is true, and returns its value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s in vain")


def bring_up_loopback():
    """A new network namespace has its loopback down. SLURM finds names only where there is an address besides 127.0.0.1."""
    get_flags, set_flags, set_address, up = 0x8913, 0x8914, 0x8916, 1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for name, address in ((b"lo", "127.0.0.1"), (b"lo:1", "192.0.2.1")):
            packed = struct.pack("HH4s8x", socket.AF_INET, 0, socket.inet_aton(address))
            fcntl.ioctl(any_socket, set_address, struct.pack("16s16s8x", name, packed))
        flags = struct.unpack("16sh22x", fcntl.ioctl(any_socket, get_flags, struct.pack("16sh22x", b"lo", 0)))[1]
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh22x", b"lo", flags | up))


class Cluster:
    def __init__(self, folder, nodes=("a", "b"), max_tasks=6):
        self.folder, self.nodes, self.max_tasks, self.daemons = pathlib.Path(folder), nodes, max_tasks, {}
        self.folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        (self.folder / "state").mkdir()
        host = socket.gethostname()
        lines = [
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={6820 + i} CPUs=1 State=UNKNOWN"
            for i, node in enumerate(nodes)
        ]
        text = CONFIGURATION.format(host=host, folder=folder, max_tasks=max_tasks, nodes="\n".join(lines))
        (self.folder / "slurm.conf").write_text(text)
        os.environ["SLURM_CONF"] = str(self.folder / "slurm.conf")
        self.start("munged", *self.munge_options())
        wait_for((self.folder / "munge.socket").exists, 30)
        self.start("slurmctld", "-D")
        wait_for(lambda: subprocess.run(["scontrol", "ping"], capture_output=True).returncode == 0, 60)
        for node in nodes:
            self.start_node(node)
        self.wait_until_up()

    def munge_options(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        names = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid"}
        names |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        return ["--foreground", "--force"] + [f"--{option}={self.folder}/{name}" for option, name in names.items()]

    def start(self, name, *words):
        with open(self.folder / f"{name}.out", "ab") as output:
            self.daemons[name] = subprocess.Popen([name.split("-")[0], *words], stdout=output, stderr=output)

    def start_node(self, node):
        self.start(f"slurmd-{node}", "-D", "-N", node)

    def stop(self):
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()

    def ask(self, *words):
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    def node_states(self):
        return dict(line.split() for line in self.ask("sinfo", "-hN", "-o", "%N %t").splitlines())

    def wait_until_up(self):
        """A star means that the daemon does not answer."""
        wait_for(lambda: all(state in ("idle", "alloc", "mix", "comp") for state in self.node_states().values()))

    def queue(self):
        """The states of all jobs that have not ended, by number or, in an array, number_index."""
        lines = self.ask("squeue", "-h", "-r", "-o", "%i %T").splitlines()
        return dict(line.split() for line in lines)

    def wait_until_done(self):
        """Waits until no job is left, including those that jobs submit."""
        wait_for(lambda: not self.queue(), 600)

    def running(self, *options):
        """The numbers of running jobs; a task of an array has one of its own, too."""
        return self.ask("squeue", "-h", "-r", "-t", "R", "-o", "%A", *options).split()

    def node_of(self, job):
        return self.ask("squeue", "-h", "-j", job, "-o", "%N").strip()

    def kill_daemon(self, node):
        daemon = self.daemons.pop(f"slurmd-{node}")
        daemon.kill()
        daemon.wait()

    def kill_node(self, node):
        """Simulates a power failure: kills the daemon, the processes that hold its jobs, and the jobs."""
        jobs = self.running("-w", node)
        self.kill_daemon(node)
        for job in jobs:
            for process in stepd_of(job):
                for each in [process, *descendants(process)]:
                    send(each, signal.SIGKILL)

    def restart_dead_nodes(self):
        for node in self.nodes:
            if f"slurmd-{node}" not in self.daemons:
                self.start_node(node)
        self.wait_until_up()

    def cancel_all(self):
        self.ask("scancel", "--user=root")
        wait_for(lambda: not self.queue())


def send(process, number):
    """Sends a signal, unless the process has ended."""
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def command_line(process):
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


def processes():
    return [int(path.name) for path in pathlib.Path("/proc").glob("[0-9]*")]


def stepd_of(job):
    """The processes of SLURM that hold a job."""
    return [each for each in processes() if command_line(each).startswith(f"slurmstepd: [{job}.")]


def descendants(process):
    try:
        children = [int(each) for each in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except OSError:
        return []
    return [each for child in children for each in [child, *descendants(child)]]
