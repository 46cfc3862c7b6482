# A broker in a container: `docker build -t ottla .`, then
# `docker run -p 127.0.0.1:9092:9092 ottla`.
# The advertised listener is localhost:9092, for clients on the host; docker-compose.yml also serves
# other containers. Settings are variables named as in apache/kafka's image
# (KAFKA_NUM_PARTITIONS=3). The data is in /data.
FROM python:3.12-slim AS build
WORKDIR /source
COPY . .
RUN python -m venv /ottla \
    && /ottla/bin/pip install --no-cache-dir -c constraints.txt . \
    && /ottla/bin/pip uninstall --yes pip \
    && /ottla/bin/python -m compileall -q /ottla

FROM python:3.12-slim
RUN useradd --system --uid 1000 --create-home ottla && install -d -m 700 -o ottla /data \
    && printf '%s\n' 'listeners=PLAINTEXT://0.0.0.0:9092' \
        'advertised.listeners=PLAINTEXT://localhost:9092' > /etc/ottla.properties
COPY --from=build /ottla /ottla
ENV PATH=/ottla/bin:$PATH PYTHONUNBUFFERED=1
USER ottla
VOLUME /data
EXPOSE 9092
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=5s --timeout=4s --start-period=5s --start-interval=1s \
    CMD ["ottla", "health", "127.0.0.1:9092"]
ENTRYPOINT ["ottla"]
CMD ["serve", "--config", "/etc/ottla.properties", "--environment", "--data-dir", "/data"]
