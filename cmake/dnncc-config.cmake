# SPDX-License-Identifier: MIT
# find_package(dnncc): models as library targets.
#
#     find_package(dnncc REQUIRED)
#     dnncc_add_model(digits digits.onnx TARGET native THREADS 2)
#     target_link_libraries(program PRIVATE digits)             # and #include "digits.h"
#
# dnncc_add_model(NAME MODEL
#     [TARGET t..] [THREADS n] [DIM N=1..] [INPUT x=1x3x8..] [MAX_RAM size] [SCHEDULE file] [QUANTIZE ranges]
#     [WEIGHTS inline|incbin|file] [PREFIX id] [RUNTIME target|NONE] [OPTIONS option..])
#
#   A static library NAME of the generated C, with its folder among the include folders of who links it. It is made again when
#   the model, data beside it, the schedule, the ranges or dnncc change, and only what depends on it, if the C is another. PREFIX: what
#   symbols and the header are called (default: NAME). OPTIONS: any others of the command line. With THREADS the library links
#   dnncc::runtime, or RUNTIME, a target with dnncc_parallel; NONE: who links it has one. WEIGHTS file: $<TARGET_PROPERTY:NAME,DNNCC_WEIGHTS>
#   is the file that run wants; without WEIGHTS gcc and clang for ELF systems get models of 1 MiB and more as incbin. TARGET cuda-sm_90 and the like: CUDA C, compiled for that architecture where the project has enabled CUDA.
#   A model that the build makes is GENERATED (a source file property); another one has to be there.
#
# Targets: dnncc::dnncc, the program; it runs on this machine, whatever the build is for. dnncc::runtime, threads and weights
# files; in a cross build it is compiled from source. dnncc::jit, where it was built and no cross build is: models that are loaded
# while the program runs (dnncc_jit.h). dnncc::cost likewise: what models cost (dnncc_cost.h).
# DNNCC_EXECUTABLE names another program.

if(CMAKE_VERSION VERSION_LESS 3.20)
    set(dnncc_FOUND FALSE)
    set(dnncc_NOT_FOUND_MESSAGE "dnncc wants CMake 3.20 or newer: dependency files of custom commands")
    return()
endif()
cmake_policy(VERSION 3.20)
include_guard(DIRECTORY)

get_filename_component(_dnncc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

# ---- the program: of this machine ----

# Beside this file may lie one for the machine that the build is for (a sysroot), which does not run here.
macro(_dnncc_look)
    find_program(DNNCC_EXECUTABLE dnncc ${ARGN} NO_CMAKE_FIND_ROOT_PATH DOC "the compiler of neural networks, for this machine")
    if(DNNCC_EXECUTABLE)
        execute_process(COMMAND "${DNNCC_EXECUTABLE}" --version RESULT_VARIABLE _dnncc_runs OUTPUT_QUIET ERROR_QUIET)
        if(NOT _dnncc_runs EQUAL 0)
            message(STATUS "${DNNCC_EXECUTABLE} does not run on this machine")
            unset(DNNCC_EXECUTABLE CACHE)
        endif()
    endif()
endmacro()
_dnncc_look(PATHS "${_dnncc_prefix}/bin" NO_DEFAULT_PATH)
if(NOT DNNCC_EXECUTABLE)
    _dnncc_look(NO_CMAKE_PATH NO_CMAKE_ENVIRONMENT_PATH)        # CMAKE_PREFIX_PATH is for what is linked
endif()
if(NOT DNNCC_EXECUTABLE)
    _dnncc_look()
endif()
if(NOT DNNCC_EXECUTABLE)
    set(dnncc_FOUND FALSE)
    set(dnncc_NOT_FOUND_MESSAGE "there is no program dnncc that runs on this machine: -DDNNCC_EXECUTABLE=... names it")
    return()
endif()
if(NOT TARGET dnncc::dnncc)
    add_executable(dnncc::dnncc IMPORTED)
    set_target_properties(dnncc::dnncc PROPERTIES IMPORTED_LOCATION "${DNNCC_EXECUTABLE}")
endif()

# ---- the runtime: for the machine that the build is for ----

if(NOT TARGET dnncc::runtime)
    set(THREADS_PREFER_PTHREAD_FLAG ON)
    find_package(Threads QUIET)
    if(EXISTS "${_dnncc_prefix}/lib/libdnncc_runtime.a" AND NOT CMAKE_CROSSCOMPILING)
        add_library(dnncc::runtime STATIC IMPORTED)
        set_target_properties(dnncc::runtime PROPERTIES IMPORTED_LOCATION "${_dnncc_prefix}/lib/libdnncc_runtime.a"
            INTERFACE_INCLUDE_DIRECTORIES "${_dnncc_prefix}/include")
        set_property(TARGET dnncc::runtime PROPERTY INTERFACE_LINK_LIBRARIES "$<TARGET_NAME_IF_EXISTS:Threads::Threads>")
    elseif(NOT TARGET dnncc_runtime)
        set(_dnncc_sources "${_dnncc_prefix}/share/dnncc/runtime")
        add_library(dnncc_runtime STATIC EXCLUDE_FROM_ALL "${_dnncc_sources}/threads.c" "${_dnncc_sources}/memory.c" "${_dnncc_sources}/trace.c")
        set_target_properties(dnncc_runtime PROPERTIES C_STANDARD 11)
        target_include_directories(dnncc_runtime PUBLIC "${_dnncc_prefix}/include")
        target_link_libraries(dnncc_runtime PUBLIC "$<TARGET_NAME_IF_EXISTS:Threads::Threads>")
        add_library(dnncc::runtime ALIAS dnncc_runtime)
    endif()
endif()

# ---- the compiler in a library, which loads LLVM ----

if(NOT TARGET dnncc::jit AND EXISTS "${_dnncc_prefix}/lib/libdnncc_jit.a" AND NOT CMAKE_CROSSCOMPILING)
    add_library(dnncc::jit STATIC IMPORTED)
    set_target_properties(dnncc::jit PROPERTIES IMPORTED_LOCATION "${_dnncc_prefix}/lib/libdnncc_jit.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_dnncc_prefix}/include")
    set_property(TARGET dnncc::jit PROPERTY INTERFACE_LINK_LIBRARIES dnncc::runtime protobuf-c z m ${CMAKE_DL_LIBS})
endif()

# ---- the same without: what models cost ----

if(NOT TARGET dnncc::cost AND EXISTS "${_dnncc_prefix}/lib/libdnncc_cost.a" AND NOT CMAKE_CROSSCOMPILING)
    add_library(dnncc::cost STATIC IMPORTED)
    set_target_properties(dnncc::cost PROPERTIES IMPORTED_LOCATION "${_dnncc_prefix}/lib/libdnncc_cost.a"
        INTERFACE_INCLUDE_DIRECTORIES "${_dnncc_prefix}/include")
    set_property(TARGET dnncc::cost PROPERTY INTERFACE_LINK_LIBRARIES protobuf-c z m pthread)
endif()

# ---- models ----

set(_dnncc_one THREADS MAX_RAM SCHEDULE QUANTIZE WEIGHTS PREFIX RUNTIME)
set(_dnncc_many TARGET DIM INPUT OPTIONS)

# Ends the configuration. CMake says from which line of which file the caller was called.
macro(_dnncc_error)
    message(FATAL_ERROR "dnncc_add_model(${name}): " ${ARGN})
endmacro()

# A word in capitals among the values of a keyword is another keyword, misspelt; but it may be the value of an option.
function(_dnncc_look_for_keywords name)
    list(JOIN _dnncc_one " " one)
    list(JOIN _dnncc_many " " many)
    set(before "")
    foreach(word IN LISTS ARGN)
        if(word MATCHES "^[A-Z][A-Z_]+$" AND NOT before MATCHES "^-")
            _dnncc_error("there is no keyword '${word}': there are ${one} ${many}")
        endif()
        set(before "${word}")
    endforeach()
endfunction()

# A file that is there, or that the build makes
function(_dnncc_look_for_file name what path)
    get_source_file_property(made "${path}" GENERATED)
    if(NOT made AND (NOT EXISTS "${path}" OR IS_DIRECTORY "${path}"))
        _dnncc_error("there is no ${what} ${path}, and no command of this build makes it; where another folder does: "
            "set_source_files_properties(${path} PROPERTIES GENERATED TRUE)")
    endif()
endfunction()

# Whether constants come in by the assembler where WEIGHTS says nothing: from 1 MiB on, where gcc or clang makes ELF objects of them. (At
# link time they would need the folder again.)
function(_dnncc_assembles model result)
    file(GLOB beside "${model}" "${model}.data" "${model}_data")
    set(bytes 0)
    foreach(file IN LISTS beside)
        file(SIZE "${file}" more)
        math(EXPR bytes "${bytes} + ${more}")
    endforeach()
    if(bytes LESS 1048576 OR NOT CMAKE_C_COMPILER_ID MATCHES "^(GNU|Clang)$" OR CMAKE_SYSTEM_NAME MATCHES "^(Darwin|Windows|CYGWIN|MSYS|Emscripten)$"
       OR CMAKE_INTERPROCEDURAL_OPTIMIZATION OR "${CMAKE_C_FLAGS}" MATCHES "-flto")
        set(${result} FALSE PARENT_SCOPE)
    else()
        set(${result} TRUE PARENT_SCOPE)
    endif()
endfunction()

function(dnncc_add_model name model)
    cmake_parse_arguments(PARSE_ARGV 2 A "" "${_dnncc_one}" "${_dnncc_many}")
    _dnncc_look_for_keywords("${name}" ${A_UNPARSED_ARGUMENTS} ${A_TARGET} ${A_DIM} ${A_INPUT} ${A_OPTIONS})
    if(A_UNPARSED_ARGUMENTS)
        _dnncc_error("cannot use '${A_UNPARSED_ARGUMENTS}'")
    elseif(A_KEYWORDS_MISSING_VALUES)
        _dnncc_error("${A_KEYWORDS_MISSING_VALUES} wants a value")
    elseif(DEFINED A_THREADS AND NOT A_THREADS MATCHES "^[1-9][0-9]*$")
        _dnncc_error("THREADS wants a number, not '${A_THREADS}'")
    endif()
    if(CMAKE_CROSSCOMPILING AND "native" IN_LIST A_TARGET)
        _dnncc_error("TARGET native is this machine's processor, and the build is for another: dnncc --target=help lists the targets")
    endif()
    get_filename_component(model "${model}" ABSOLUTE)
    _dnncc_look_for_file("${name}" model "${model}")
    string(MAKE_C_IDENTIFIER "${name}" prefix)
    if(A_PREFIX)
        set(prefix "${A_PREFIX}")
    endif()
    set(folder "${CMAKE_CURRENT_BINARY_DIR}/${name}.dnncc")
    set(stem "${folder}/${prefix}")
    set(language C)
    set(source "${stem}.c")
    if("${A_TARGET}" MATCHES "(^|;)cuda(-|;|$)")
        if(NOT CMAKE_CUDA_COMPILER)
            _dnncc_error("TARGET ${A_TARGET} gives CUDA C, and this project has not enabled CUDA: project(... LANGUAGES CXX CUDA)")
        endif()
        set(language CUDA)
        set(source "${stem}.cu")
    endif()
    set(outputs "${source}" "${stem}.h")
    set(options "--name=${prefix}")
    set(files "${model}")
    if(A_TARGET)
        list(JOIN A_TARGET "," targets)
        list(APPEND options "--target=${targets}")
    endif()
    foreach(option IN ITEMS THREADS MAX_RAM WEIGHTS)
        if(DEFINED A_${option})
            string(TOLOWER "${option}" word)
            string(REPLACE "_" "-" word "${word}")
            list(APPEND options "--${word}=${A_${option}}")
        endif()
    endforeach()
    foreach(option IN ITEMS SCHEDULE QUANTIZE)
        if(DEFINED A_${option})
            string(TOLOWER "${option}" word)
            get_filename_component(file "${A_${option}}" ABSOLUTE)
            _dnncc_look_for_file("${name}" "${word} file" "${file}")
            list(APPEND options "--${word}=${file}")
            list(APPEND files "${file}")
        endif()
    endforeach()
    foreach(value IN LISTS A_DIM)
        list(APPEND options "--dim=${value}")
    endforeach()
    foreach(value IN LISTS A_INPUT)
        list(APPEND options "--input=${value}")
    endforeach()
    list(APPEND options ${A_OPTIONS})
    _dnncc_assembles("${model}" assembles)
    if(assembles AND NOT "${options}" MATCHES "--weights=" AND language STREQUAL "C")
        list(APPEND options "--weights=incbin")
    endif()
    if("${options}" MATCHES "--weights=(incbin|file)")
        list(APPEND outputs "${stem}.weights")
    endif()
    if(CMAKE_GENERATOR MATCHES "Ninja")                 # which looks whether outputs have changed; make compares times
        list(APPEND options "--if-changed")
    endif()

    file(MAKE_DIRECTORY "${folder}")
    add_custom_command(OUTPUT ${outputs} COMMAND dnncc::dnncc ${options} -o "${source}" -MF "${stem}.d" -- "${model}"
        DEPENDS ${files} "${DNNCC_EXECUTABLE}" DEPFILE "${stem}.d" COMMENT "Compiling model ${name}" VERBATIM)
    add_library("${name}" STATIC ${outputs})
    set_source_files_properties("${source}" PROPERTIES OBJECT_DEPENDS "${outputs}")     # of which an assembler may read one
    target_include_directories("${name}" PUBLIC "${folder}")
    set_target_properties("${name}" PROPERTIES C_EXTENSIONS ON LINKER_LANGUAGE ${language})
    if(language STREQUAL "CUDA")
        string(REGEX MATCHALL "sm_[0-9]+a?" architectures "${A_TARGET}")
        string(REPLACE "sm_" "" architectures "${architectures}")
        if(NOT architectures)
            set(architectures 80)                       # what the target `cuda` is
        endif()
        set_target_properties("${name}" PROPERTIES CUDA_ARCHITECTURES "${architectures}")
    endif()
    if("${options}" MATCHES "--weights=file")
        set_target_properties("${name}" PROPERTIES DNNCC_WEIGHTS "${stem}.weights")
    endif()
    if("${options}" MATCHES "--fast-libm")
        target_link_libraries("${name}" PUBLIC m)
    endif()
    if("${options}" MATCHES "--threads=([2-9]|1[0-9])" AND NOT A_RUNTIME STREQUAL "NONE")
        if(NOT A_RUNTIME)
            set(A_RUNTIME dnncc::runtime)
        endif()
        target_link_libraries("${name}" PUBLIC "${A_RUNTIME}")
    endif()
endfunction()
