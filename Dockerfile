# A broker in a container: `docker build -t ottla .`, then
# `docker run -p 127.0.0.1:9092:9092 ottla`. It takes the place of apache/kafka, apache/kafka-native,
# confluentinc/cp-kafka and confluentinc/confluent-local; see docs/how-to/containers.md.
# The advertised listener is localhost:9092, for clients on the host; docker-compose.yml also serves
# other containers. Settings are variables, as in those images (KAFKA_NUM_PARTITIONS=3).
# A release names the digest of the base image, too: BASE_DIGEST=sha256:...
ARG BASE=python:3.12-slim
ARG BASE_DIGEST=
FROM ${BASE}${BASE_DIGEST:+@}${BASE_DIGEST} AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils busybox-static ca-certificates tzdata \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python3 docker/make_root.py /image

FROM scratch
ARG BASE
ARG BASE_DIGEST
ARG VERSION=0.1.0
ARG REVISION=
LABEL org.opencontainers.image.title="Ottla" \
      org.opencontainers.image.description="A broker that speaks Kafka's protocol, for tests" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.documentation="/usr/share/doc/ottla" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.base.name="docker.io/library/$BASE" \
      org.opencontainers.image.base.digest="$BASE_DIGEST"
COPY --from=build /image /
ENV PATH=/usr/bin:/usr/sbin:/opt/kafka/bin:/usr/local/bin PYTHONUNBUFFERED=1 LANG=C.UTF-8
USER 1000
# Commands for Kafka's images name their programs from here: bin/kafka-server-start.sh.
WORKDIR /opt/kafka
EXPOSE 9092
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=5s CMD ["ottla", "health", "--here"]
ENTRYPOINT ["ottla-entrypoint"]
CMD ["serve"]
