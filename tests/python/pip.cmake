# SPDX-License-Identifier: Apache-2.0
# Tests `pip install .` without a network, and the package that it installs.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status WORKING_DIRECTORY ${work})
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
execute_process(COMMAND ${python} -c "import ensurepip" RESULT_VARIABLE status ERROR_QUIET)
if(NOT status EQUAL 0)
  message("skipped: no venv for ${python}: install python3-venv")
  return()
endif()
run(${python} -m venv --system-site-packages ${work}/venv)
set(venv_python ${work}/venv/bin/python)
# What a first match needs, which is compiled in a quarter of the time.
set(ENV{CMAKE_ARGS} "-DPARALLAX_METHODS=bp -DPARALLAX_VECTORS=native -DPARALLAX_CUDA=OFF -DPARALLAX_OPENCL=OFF")
run(${venv_python} -m pip install --quiet --no-index ${source})
# Two builds give the same bytes, from a library that is already compiled.
set(ENV{PARALLAX_LIBRARY} ${library})
foreach(wheel one two)
  run(${venv_python} -m pip wheel --quiet --no-index --no-deps --wheel-dir ${work}/${wheel} ${source})
endforeach()
file(GLOB one ${work}/one/*.whl)
file(GLOB two ${work}/two/*.whl)
run(${CMAKE_COMMAND} -E compare_files ${one} ${two})
unset(ENV{PARALLAX_LIBRARY})
unset(ENV{PYTHONPATH})
run(${venv_python} -c
    "import parallax_stereo as px\nleft, right, truth = px.synthesize((320, 240), 32)\nassert px.evaluate(px.match(left, right, 32).disparity, truth).bad1 < 0.1\nassert 'venv' in px.__file__")
# Pictures are read by the library that was built beside it.
run(${venv_python} -c
    "import parallax_stereo as px\nopen('a.pgm', 'wb').write(b'P5 2 1 255 ab')\nassert px.read('a.pgm').tolist() == [[97, 98]]")
