# muster_test(name SOURCES a.cpp LABEL unit TIMEOUT 30 LINK muster::queues)
# One GoogleTest program is one CTest test. LABEL is the folder's name; sanitizers pick by it.
function(muster_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;LINK;ARGS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE muster_build_flags ${arg_LINK} GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(MUSTER_SANITIZE AND arg_LABEL STREQUAL unit)
    target_compile_options(${name} PRIVATE -O0)  # they take longer to compile than to run
  endif()
  # What nearly all tests include takes a third of their time. Where clang-tidy looks on, each file
  # has to include what it needs by itself.
  list(LENGTH arg_SOURCES count)
  if(count GREATER 4 AND NOT CMAKE_CXX_CLANG_TIDY)
    target_precompile_headers(${name} PRIVATE
      <chrono> <functional> <memory> <string> <vector> <gtest/gtest.h>)
  endif()
  add_test(NAME ${arg_LABEL}.${name} COMMAND ${name} ${arg_ARGS})
  set_tests_properties(${arg_LABEL}.${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()
