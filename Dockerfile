# Two images: "clew" has the program alone, for reading transcripts that are mounted into it, and
# "clew-agent" has Claude Code as well, for running prompts.
#
#   docker build --target clew -t clew .
#   docker run --rm --user "$(id -u):$(id -g)" -v ~/.claude:/claude:ro clew stats
#
# Only their owner can read transcripts, so that the program must run as this user. The context must be a clone, from
# whose tags and commits the program has its version.
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY . .
ARG TARGETOS TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /clew ./cmd/clew

FROM gcr.io/distroless/static-debian12:nonroot AS clew
COPY --from=build /clew /usr/bin/clew
ENV CLAUDE_CONFIG_DIR=/claude
ENTRYPOINT ["/usr/bin/clew"]

# The agent's tools need a shell, git and the usual programs, which a distroless image does not have.
FROM node:22-bookworm-slim AS agent
COPY .ci/install-agent .ci/agent-integrity /ci/
COPY clewtest/real.go /ci/
RUN /ci/install-agent "$(sed -n 's/^const AgentVersion = "\(.*\)"$/\1/p' /ci/real.go)" /agent/claude

FROM debian:bookworm-slim AS clew-agent
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git && rm -rf /var/lib/apt/lists/* \
	&& useradd --create-home --uid 65532 nonroot && chmod 1777 /home/nonroot
COPY --from=agent /agent/claude /usr/bin/claude
COPY --from=build /clew /usr/bin/clew
USER nonroot
# Any user can use it as home, as --user may name one without an entry in /etc/passwd.
ENV HOME=/home/nonroot
WORKDIR /home/nonroot
ENTRYPOINT ["/usr/bin/clew"]
