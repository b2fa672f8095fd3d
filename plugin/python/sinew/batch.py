"""Baking many files, on threads or in processes."""

from __future__ import annotations

import concurrent.futures
import contextlib
import os
import threading
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import worker
from .bake import bake
from .error import Cancelled, SinewError
from .scene import Path


class Baked(NamedTuple):
    """One of a batch: its report, or why there is none."""

    scene: str
    report: Optional[Dict[str, Any]]
    error: Optional[SinewError]


#: A scene's path, or a scene's and the output's, or the arguments of `bake`.
Item = Union[str, "os.PathLike[str]", Sequence[Path], Mapping[str, Any]]


def batch(
    items: Iterable[Item],
    *,
    workers: Optional[int] = None,
    processes: bool = False,
    progress: Optional[Callable[[int, int, Baked], Any]] = None,
    **options: Any,
) -> List[Baked]:
    """Bakes many scenes at once, and gives what became of each, in order; one that fails stops no other.

    An item is a scene's path, a pair of scene and output, or a dictionary of arguments of `bake`. `options` are for
    all. `workers` are as many as there are cores unless told; they are threads, or with `processes` processes of their
    own: then a file that runs out of memory, or brings the library down, takes nothing else with it.

    `progress(done, of, baked)` is called after each, one at a time; returning False cancels what is left, and so does
    Ctrl+C. What is cancelled writes nothing.

    >>> for baked in batch(["missing.glb", ("gone.glb", "out.glb")], workers=2):
    ...     print(baked.scene, baked.report, type(baked.error).__name__)
    missing.glb None FileError
    gone.glb None FileError
    >>> [type(baked.error).__name__ for baked in batch(["missing.glb", "gone.glb"], processes=True, workers=2)]
    ['FileError', 'FileError']
    >>> batch(["a.glb", "b.glb"], workers=1, progress=lambda done, of, baked: False)[1].error
    Cancelled('b.glb: not begun, since the batch was cancelled')
    """
    wanted = [_arguments(item) for item in items]
    stop = threading.Event()
    lock = threading.Lock()
    done = 0

    def work(arguments: Dict[str, Any]) -> Baked:
        nonlocal done
        scene = os.fspath(arguments["scene"])
        try:
            own = {**options, **arguments}
            inner = own.pop("on_frame", None)

            def going(at: Any) -> bool:
                return not stop.is_set() and (inner is None or inner(scene, at) is not False)

            if stop.is_set():
                raise Cancelled(f"{scene}: not begun, since the batch was cancelled")
            with hired() as one:
                baked = Baked(scene, one(**own, progress=going), None)
        except SinewError as error:
            baked = Baked(scene, None, error)
        with lock:
            done += 1
            if progress is not None and progress(done, len(wanted), baked) is False:
                stop.set()
        return baked

    idle: List[worker.Worker] = []

    @contextlib.contextmanager
    def hired() -> Iterator[Callable[..., Dict[str, Any]]]:
        """What bakes: this process, or another that has nothing to do."""
        if not processes:
            yield bake
            return
        with lock:
            one = idle.pop() if idle else None
        one = one or worker.Worker()
        try:
            yield one.bake
        finally:
            if one.is_free:
                with lock:
                    idle.append(one)
            else:
                one.close()

    with concurrent.futures.ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            return list(pool.map(work, wanted))
        except BaseException:  # Ctrl+C: those at hand stop at their next frame, and write nothing.
            stop.set()
            raise
        finally:
            pool.shutdown()
            for one in idle:
                one.close()


def _arguments(item: Item) -> Dict[str, Any]:
    if isinstance(item, Mapping):
        return dict(item)
    if isinstance(item, (str, os.PathLike)):
        return {"scene": item}
    scene, output = item
    return {"scene": scene, "output": output}
