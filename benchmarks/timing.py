"""Time functions in turn, so that a machine that slows down slows both."""

import compileall
import time

import numpy as np

import bayescal


def compile_package():
    """Compile the package, as pip does when it installs it: else every process would."""
    compileall.compile_dir(bayescal.__path__[0], quiet=1)


def ratios(candidate, peer, runs=7, clock=time.perf_counter):
    """Return the median time of each and the median of the ratios, run by run."""
    times = []
    for function in (candidate, peer):  # warm up
        function()
    for _ in range(runs):
        pair = []
        for function in (candidate, peer):
            start = clock()
            function()
            pair.append(clock() - start)
        times.append(pair)
    mine, others = np.array(times).T
    return np.median(mine), np.median(others), np.median(mine / others)


def report(name, candidate, peer, peer_name, bar, runs=7, clock=time.perf_counter):
    """Print one comparison beside its bar."""
    mine, other, ratio = ratios(candidate, peer, runs, clock)
    verdict = "holds" if ratio <= bar else "MISSED"
    print(
        f"{name:44} {mine * 1e3:9.2f} ms   {peer_name:30} {other * 1e3:9.2f} ms"
        f"   ratio {ratio:6.3f}   bar {bar:5.2f}  {verdict}"
    )
