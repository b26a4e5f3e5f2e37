# The server in a small image: `bun run build` first, then `docker build -t relay .`
FROM debian:13-slim

RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin relay \
  && install -d -o relay -g relay -m 700 /data /backups
COPY --chmod=755 dist/relay /usr/local/bin/relay

USER 10001
WORKDIR /data
# Only volumes are written to: the native part of libSQL is unpacked into this one too. /backups is for BACKUP_DIR.
ENV HOST=0.0.0.0 \
  PORT=3000 \
  DATABASE_URL=file:/data/relay.db \
  ACCOUNT_CREATION=first \
  BUN_TMPDIR=/data
VOLUME /data
EXPOSE 3000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s CMD ["relay", "health"]
ENTRYPOINT ["relay"]
CMD ["serve"]
