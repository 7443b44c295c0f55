"""Docker and its like: looking at containers, and the project's own services of a compose file.

Starting and building those is running the project's code with whatever rights it asks for: a rule allows that. `docker
run`, `exec`, `cp` and the like give the whole machine, and are not here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from joey.policy.shell.options import Program, Use, program

# Docker

_LIST = "-a -q -f=t --all --quiet --filter=t --format=t --no-trunc"
_PS = program(f"{_LIST} -n=t -l -s --last=t --latest --size")
_IMAGES = program(f"{_LIST} --digests --tree", "t")
_INSPECT = program("-f=t -s --format=t --size --type=t", "t*")
_LOGS = program("-f -t -n=t --details --follow --since=t --tail=t --timestamps --until=t", "t")
_LOOK: dict[str, Program] = {
    "ps": _PS,
    "images": _IMAGES,
    "logs": _LOGS,
    "inspect": _INSPECT,
    "version": program("-f=t --format=t"),
    "info": program("-f=t --format=t"),
    "top": program("", "t"),
    "stats": program("-a --all --format=t --no-stream --no-trunc", "t*"),
    "port": program("", "t t"),
    "diff": program("", "t"),
    "history": program("-H -q --format=t --human --no-trunc --quiet", "t"),
    "container": program(subcommands={"ls": _PS, "list": _PS, "logs": _LOGS, "inspect": _INSPECT}),
    "image": program(subcommands={"ls": _IMAGES, "list": _IMAGES, "inspect": _INSPECT}),
    "network": program(subcommands={"ls": program(_LIST), "inspect": _INSPECT}),
    "volume": program(subcommands={"ls": program(_LIST), "inspect": _INSPECT}),
    "system": program(subcommands={"df": program("-v --verbose --format=t")}),
    "context": program(subcommands={"ls": program("-q --quiet --format=t"), "show": program()}),
}


def _build(use: Use) -> Iterator[str]:
    """The context may be an address, or arrive on standard input: then it is not the project's."""
    for word in use.operands:
        if word.text == "-" or re.search(r"://|^git@|^github\.com/|\.git(?:#|$)", word.text):
            yield f"`{word.text}` is not a folder of the project"


_BUILD = program(
    "-q -t=t -f=x --build-arg=t --file=x --force-rm --label=t --no-cache --platform=t --progress=t --pull --quiet --rm "
    "--tag=t --target=t",
    "d",
    project_code=True,
    check=_build,
)


def _config(use: Use) -> Iterator[str]:
    """The whole configuration shows what `.env` and the environment hold."""
    if not use.has("-q", "--quiet", "--services", "--images", "--profiles", "--volumes", "--no-interpolate"):
        yield "`config` shows the values of variables; use `config --services` or `config --quiet`"


def _service(options: str = "") -> Program:
    return program(options, "t*", project_code=True)


_COMPOSE = program(
    "-f=x --file=x -p=t --project-name=t --profile=t --ansi=t --progress=t --parallel=t --dry-run -v --version",
    subcommands={
        "ps": program("-a -q --all --filter=t --format=t --no-trunc --quiet --services --status=t", "t*"),
        "logs": program(
            "-f -t -n=t --follow --no-color --no-log-prefix --since=t --tail=t --timestamps --until=t", "t*"
        ),
        "ls": program("-a -q --all --filter=t --format=t --quiet"),
        "images": program("-q --format=t --quiet", "t*"),
        "top": program("", "t*"),
        "port": program("--index=t --protocol=t", "t t"),
        "version": program("-f=t --format=t --short"),
        "config": program(
            "-q --format=t --images --no-interpolate --profiles --quiet --services --volumes", "t*", check=_config
        ),
        "up": _service(
            "-d -V -t=t --abort-on-container-exit --always-recreate-deps --attach=t --attach-dependencies --build "
            "--detach --exit-code-from=t --force-recreate --no-attach=t --no-build --no-color --no-deps "
            "--no-log-prefix --no-recreate --no-start --pull=t --quiet-pull --remove-orphans --renew-anon-volumes "
            "--scale=t --timeout=t --timestamps --wait --wait-timeout=t"
        ),
        "down": _service("-t=t --remove-orphans --timeout=t"),
        "build": _service("-q --no-cache --pull --quiet --with-dependencies"),
        "pull": _service("-q --quiet --ignore-pull-failures --include-deps"),
        "start": _service(),
        "stop": _service("-t=t --timeout=t"),
        "restart": _service("-t=t --no-deps --timeout=t"),
    },
)


# Kubernetes

_CLUSTER = "-n=t --namespace=t --context=t --request-timeout=t --help"
_OUTPUT = re.compile(
    r"name|wide|yaml|json|plaintext|(?:jsonpath|jsonpath-as-json|custom-columns|go-template)=.*", re.DOTALL
)


def _kubectl(use: Use) -> Iterator[str]:
    """Neither what secrets hold, nor templates from files."""
    if any(re.search(r"(?:^|[,/])secrets?\b", word.text, re.IGNORECASE) for word in use.operands):
        yield "`kubectl` shows secrets"
    for name, value in use.options:
        if name in ("-o", "--output") and value is not None and not _OUTPUT.fullmatch(value.text.removeprefix("=")):
            yield f"the output `{value.text}` of `kubectl` is not known to be harmless"


def _kube(options: str = "", operands: str = "") -> Program:
    return program(f"{options} {_CLUSTER}", operands, check=_kubectl)


_KUBECTL = {
    "get": _kube(
        "-A -L=t -l=t -o=t -w --all-namespaces --chunk-size=t --field-selector=t --ignore-not-found --label-columns=t "
        "--no-headers --output=t --selector=t --show-kind --show-labels --sort-by=t --watch --watch-only",
        "t*",
    ),
    "describe": _kube("-A -l=t --all-namespaces --chunk-size=t --selector=t", "t*"),
    "logs": _kube(
        "-c=t -f -l=t -p --all-containers --container=t --follow --ignore-errors --limit-bytes=t --max-log-requests=t "
        "--prefix --previous --selector=t --since=t --since-time=t --tail=t --timestamps",
        "t t",
    ),
    "events": _kube("-A -o=t -w --all-namespaces --for=t --no-headers --output=t --types=t --watch"),
    "version": _kube("-o=t --client --output=t"),
    "cluster-info": _kube(),
    "explain": _kube("-o=t --api-version=t --output=t --recursive", "t"),
    "api-resources": _kube("-o=t --api-group=t --no-headers --output=t --sort-by=t --verbs=t"),
    "top": program(
        subcommands={
            "pod": _kube("-A -l=t --all-namespaces --containers --no-headers --selector=t --sort-by=t", "t"),
            "pods": _kube("-A -l=t --all-namespaces --containers --no-headers --selector=t --sort-by=t", "t"),
            "node": _kube("-l=t --no-headers --selector=t --sort-by=t", "t"),
            "nodes": _kube("-l=t --no-headers --selector=t --sort-by=t", "t"),
        }
    ),
    "config": program(subcommands={"current-context": _kube(), "get-contexts": _kube("-o=t --no-headers --output=t")}),
}


PROGRAMS: dict[str, Program] = {
    "docker": program("-v --version --help", subcommands={**_LOOK, "build": _BUILD, "compose": _COMPOSE}),
    "docker-compose": _COMPOSE,
    "podman": program(
        "-v --version --help",
        subcommands={
            "ps": program(_LIST),
            "images": program(_LIST, "t"),
            "logs": program("-f -t --follow --since=t --tail=t --timestamps --until=t", "t"),
            "inspect": program("-f=t --format=t", "t*"),
            "version": program("-f=t --format=t"),
            "info": program("-f=t --format=t"),
        },
    ),
    "kubectl": program(_CLUSTER, subcommands=_KUBECTL),
    "helm": program(
        subcommands={
            "list": program("-A -a -q -n=t -o=t --all --all-namespaces --namespace=t --output=t --short"),
            "version": program("--short"),
        }
    ),
}
