# A broker in a container: `docker build -t ottla .`, then
# `docker run -p 127.0.0.1:9092:9092 ottla`. It takes the place of apache/kafka, apache/kafka-native,
# confluentinc/cp-kafka and confluentinc/confluent-local; see docs/how-to/containers.md.
# The advertised listener is localhost:9092, for clients on the host; docker-compose.yml also serves
# other containers. Settings are variables, as in those images (KAFKA_NUM_PARTITIONS=3).
FROM python:3.12-slim AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends binutils busybox-static \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN python3 docker/make_root.py /image

FROM scratch
COPY --from=build /image /
ENV PATH=/usr/bin:/usr/sbin:/opt/kafka/bin:/usr/local/bin PYTHONUNBUFFERED=1 LANG=C.UTF-8
USER 1000
WORKDIR /var/lib/kafka
VOLUME ["/var/lib/kafka/data"]
EXPOSE 9092
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=5s CMD ["ottla", "health", "127.0.0.1:9092"]
ENTRYPOINT ["ottla-entrypoint"]
CMD ["serve"]
