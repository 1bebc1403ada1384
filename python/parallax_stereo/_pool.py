# SPDX-License-Identifier: Apache-2.0
"""Many pairs on several devices."""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from typing import Any, Deque, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from ._arrays import Array, Images, as_array, integer
from ._copies import Copied, remembered
from ._library import ArgumentError, Error, Handle, LostDevice, PoolLimits, encoded, function, text
from ._matcher import Result, _checked_size, _image_type, _map, _new_maps, _result, _Settings


_NO_NUMBER = 2**64 - 1


class _Pool(Handle):
    """A parallax_pool. It is released before the arrays of the pairs that it matches."""

    def __init__(self) -> None:
        super().__init__("pool")
        self.pairs: Dict[int, Tuple[Images, List[Array], Optional[List[Array]]]] = {}


class MatcherPool(Copied):
    """Matches many pairs of any size on several devices, each on whichever is free, and several at once on a GPU.

    method: one of methods().
    devices: "cuda:all" for every GPU, or devices, as a sequence or separated by commas: "cuda:0,cuda:2", "cuda:all,cpu".
    threads: number of CPU threads; 0 = one for each core.
    preset: one of presets(method); other keywords override its values.
    max_memory: largest number of bytes that the matchers of one device may take; 0 = the memory of the machine.
    matchers_per_gpu: pairs that are matched at once on each GPU; 0 = chosen by the size of the images.
    waiting: pairs that may wait for a free matcher; 0 = twice as many as are matched at once.
    configure: tunables by name, which never change a result. Other keywords are the parameters of the
    method, which parameters(method) lists.

        with px.MatcherPool("census", devices="cuda:all", disparities=96) as pool:
            for result in pool.map((read(left), read(right)) for left, right in names):
                ...

    The maps have the same bytes on all devices. A device that fails is no longer used: its pairs go to the others. Threads
    may share a pool. close(), or the end of the `with` block, drops the pairs that have not been waited for. A pool that is
    pickled or copied is made anew from its arguments, without its pairs.
    """

    @remembered
    def __init__(
        self,
        method: str = "bp",
        devices: Union[str, Sequence[str]] = "auto",
        *,
        threads: int = 0,
        preset: str = "default",
        max_memory: int = 0,
        matchers_per_gpu: int = 0,
        waiting: int = 0,
        configure: Optional[Mapping[str, Any]] = None,
        **parameters: Any,
    ) -> None:
        settings = _Settings(method, preset, "cpu", threads, max_memory, configure or {}, parameters)
        names = devices if isinstance(devices, str) else ",".join(devices)
        limits = PoolLimits(integer(matchers_per_gpu, "matchers_per_gpu"), integer(waiting, "waiting"))
        #: All parameters with their values, and "method".
        self.parameters: Dict[str, Any] = settings.parameters()
        self._own: Dict[str, _Settings] = {}
        self._submitted = threading.Condition()
        held = _Pool()
        function("pool_create")(
            settings.handle, encoded(names, "devices"), ctypes.byref(limits), ctypes.byref(held.pointer)
        )
        self._held: Optional[_Pool] = held

    def submit(
        self,
        left: Any,
        right: Any,
        *,
        left_mask: Any = None,
        right_mask: Any = None,
        costs: Any = None,
        confidence: bool = False,
        row_offset: bool = False,
        both_maps: bool = False,
        out: Optional[Tuple[Any, ...]] = None,
        range: Optional[Tuple[int, int]] = None,
        **parameters: Any,
    ) -> int:
        """Queues a pair and returns its number, counted from 0. Blocks while too many pairs wait.

        Give the arrays as to a Matcher, from NumPy; do not change them until the pair has been waited for. With
        both_maps, the result also has the map of the right image. Other keywords are parameters in which this pair
        differs from the pool.
        """
        pool = self._open()
        images = Images(left, right, left_mask, right_mask, costs, range=range)
        wanted = (confidence, row_offset)
        maps = _new_maps(images.shape, wanted, out)
        right_maps = _new_maps(images.shape, wanted, None) if both_maps else None
        settings = self._settings(parameters)
        number = ctypes.c_uint64(_NO_NUMBER)
        try:
            function("pool_submit")(
                pool.pointer,
                images.pair,
                _map(maps, right_maps),
                settings.handle if settings else None,
                ctypes.byref(number),
            )
        finally:
            # Done even after Ctrl-C, because a pair that was taken needs its arrays.
            if number.value != _NO_NUMBER:
                with self._submitted:
                    pool.pairs[number.value] = (images, maps, right_maps)
                    self._submitted.notify_all()
        return number.value

    def wait(self, number: int) -> Result:
        """Waits for a pair; each pair is waited for once. If it could not be matched, `pair` of the error is its number."""
        pool = self._open()
        number = integer(number, "number", 0, 2**63)
        if number not in pool.pairs:
            raise ArgumentError(f"pair {number} is not waited for: give a number that submit() returned, once")
        try:
            function("pool_wait")(pool.pointer, number, None)
        except Error as error:
            # Another thread may have waited for the same pair.
            if str(error).startswith(f"pair {number}: "):
                error.pair = number
                self._take(pool, number)
            raise
        return self._take(pool, number)

    def wait_any(self) -> Optional[Tuple[int, Result]]:
        """Waits for any pair, and returns its number and result; None when there is none left to wait for."""
        pool = self._open()
        found, number = ctypes.c_int32(), ctypes.c_uint64()
        try:
            function("pool_wait_any")(pool.pointer, ctypes.byref(found), ctypes.byref(number), None)
        except Error as error:
            if found.value:
                error.pair = number.value
                self._take(pool, number.value)
            raise
        return (number.value, self._take(pool, number.value)) if found.value else None

    def map(self, pairs: Iterable[Sequence[Any]], **options: Any) -> Iterator[Result]:
        """Matches pairs (left, right) as they come, and yields the results in their order.

        It submits some pairs ahead of the results, so that all devices have work. options: keywords of submit(). A pair
        that cannot be matched ends it with an error whose `pair` is its number.
        """
        numbers: Deque[int] = deque()
        try:
            for left, right in pairs:
                numbers.append(self.submit(left, right, **options))
                array = as_array(left, "left")
                if len(numbers) > 3 * self.matchers((array.shape[1], array.shape[0]), array.dtype):
                    yield self.wait(numbers.popleft())
            while numbers:
                yield self.wait(numbers.popleft())
        except (Exception, GeneratorExit):  # but not the exception of Ctrl-C, which does not wait
            for number in numbers:
                try:
                    self.wait(number)
                except Error:
                    pass
            raise

    @property
    def lost_devices(self) -> Dict[str, str]:
        """The devices that stopped working, each with its error."""
        lost, count = ctypes.POINTER(LostDevice)(), ctypes.c_size_t()
        function("pool_lost_devices")(self._open().pointer, ctypes.byref(lost), ctypes.byref(count))
        return {text(lost[i].device): text(lost[i].reason) for i in range(count.value)}

    def matchers(self, size: Tuple[int, int], dtype: Any = np.uint8) -> int:
        """How many pairs of this size (width, height) and type are matched at once, on all devices that work."""
        count = ctypes.c_int32()
        function("pool_matchers")(self._open().pointer, *_checked_size(size), _image_type(dtype), ctypes.byref(count))
        return count.value

    def close(self) -> None:
        """Drops the pairs that have not been waited for; those that are being matched are cancelled."""
        self._held = None

    def __reduce__(self) -> Tuple[Any, ...]:
        self._open()
        return super().__reduce__()

    def __enter__(self) -> MatcherPool:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def _open(self) -> _Pool:
        pool = self._held
        if pool is None:
            raise ArgumentError("the pool is closed: make a new one")
        return pool

    def _take(self, pool: _Pool, number: int) -> Result:
        with self._submitted:
            # It may have been matched before submit() has returned to another thread.
            self._submitted.wait_for(lambda: number in pool.pairs)
            images, maps, right_maps = pool.pairs.pop(number)
        return _result(maps, images.left, images.right, right_maps)

    def _settings(self, parameters: Mapping[str, Any]) -> Optional[_Settings]:
        if not parameters:
            return None
        key = repr(sorted(parameters.items()))
        settings = self._own.get(key)
        if settings is None:
            changed = {**self.parameters, **parameters}
            settings = _Settings(self.parameters["method"], "default", "cpu", 0, 0, {}, changed)
            if len(self._own) > 100:
                self._own.clear()
            self._own[key] = settings
        return settings

    def __repr__(self) -> str:
        return f"<MatcherPool {self.parameters['method']}>"
