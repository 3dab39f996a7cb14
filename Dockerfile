# Built with everything, on the image that has the compilers which the SQLite driver may need.
FROM node:22-bookworm AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
RUN npm ci
COPY tsconfig.json tsconfig.build.json ./
COPY bin/run.js bin/
COPY scripts scripts
COPY src src
RUN npm run build
RUN npm prune --omit=dev

# Runs with what it needs and nothing else: no compiler, no development dependency, no root.
FROM node:22-bookworm-slim
# Threads that SQLite, files and name look-ups share: of the four by default a few slow ones hold up all others.
ENV NODE_ENV=production UV_THREADPOOL_SIZE=16
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/package.json /app/oclif.manifest.json ./
COPY --from=build /app/bin bin
COPY --from=build /app/dist dist
RUN ln -s /app/bin/run.js /usr/local/bin/passes && mkdir /data && chown node:node /data

# A SQLite database, its key and the sandbox, where no PASSES_DATABASE_URL names PostgreSQL.
VOLUME /data
WORKDIR /data
USER node
ENV PASSES_HOST=0.0.0.0 PASSES_PORT=3000
EXPOSE 3000

# Alive, not ready: a database that is away for a moment is no reason to start the server anew.
HEALTHCHECK --interval=10s --timeout=3s --start-period=30s \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.PASSES_PORT + '/healthz').then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]

ENTRYPOINT ["passes"]
CMD ["serve"]
