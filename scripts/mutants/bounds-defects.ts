import type { Defect } from './defect.ts';

const boundedFetch = 'adapters/egress/bounded-fetch.ts';
const boundedAnswers = 'test/adapters/bounded-answers.test.ts';

/** Limits of what other servers and clients send, and of what we promise them. */
export const boundsDefects: readonly Defect[] = [
  {
    name: 'byte limit before inflation only',
    file: boundedFetch,
    replace: [
      [
        ': within(answer.body, watch, { limits, signal, share: options.share })',
        `: Number(answer.headers.get('content-length')) > limits.maxBytes
          ? within(answer.body, watch, { limits, signal, share: options.share })
          : answer.body`,
      ],
    ],
    test: boundedAnswers,
    caughtBy: 'no answer fills the memory of a process',
  },
  {
    name: 'turns without a pace',
    file: 'activities/responses/wait-for-pace.ts',
    replace: [['const ms = pace.take(tenantId);', 'const ms = 0 * pace.take(tenantId);']],
    test: 'test/activities/wait-for-pace.test.ts',
    caughtBy: 'a tenant that begins more than its pace waits',
  },
  {
    name: 'starts without a pace',
    file: 'temporal/paced-dispatcher.ts',
    replace: [["row.kind === 'start' ?", "row.kind === 'start' && row.id === '' ?"]],
    test: 'test/temporal/paced-dispatcher.test.ts',
    caughtBy: 'a start beyond the pace stays in the outbox',
  },
  {
    name: 'no limit for one event',
    file: boundedFetch,
    replace: [['if (events.passes(value)) {', 'if (events.passes(value) && false) {']],
    test: boundedAnswers,
    caughtBy: 'no answer fills the memory of a process',
  },
  {
    name: 'no patience for a head',
    file: boundedFetch,
    replace: [[`    watch.allow('headers', limits.headersMs);\n`, '']],
    test: boundedAnswers,
    caughtBy: 'is given up by every client',
  },
  {
    name: 'a stopping gateway that ends its streams cleanly',
    file: 'api/sse/response-stream.ts',
    replace: [['raw.write(`retry: 500${aside}`, destroy);', 'raw.end(`retry: 500${aside}`);']],
    test: 'test/e2e/graceful-stop.test.ts',
    caughtBy: 'no client takes a part for the whole',
  },
  {
    name: 'a part of an answer with 200',
    file: 'api/rest/v1/openai/create.ts',
    replace: [['if (!isTerminal(record.status)) {', 'if (record.id === null) {']],
    test: 'test/api/waiting.test.ts',
    caughtBy: 'goes on when the process cannot wait any longer',
  },
  {
    name: 'a start that was sent, deleted by its cancel',
    file: 'domain/foundation/durable/outbox.ts',
    replace: [['claimed_until <= created_at', 'claimed_until < now()']],
    test: 'test/domain/foundation/durable/outbox.test.ts',
    caughtBy: 'may have sent before it died',
  },
  {
    name: 'max_output_tokens anew for each attempt',
    file: 'domain/responses/turn/claim-turn.ts',
    replace: [[`continuesPrefix(plan.name) ? textSince(events, turn.firstN) : ''`, `''`]],
    test: 'test/domain/responses/turn/limits.test.ts',
    caughtBy: 'hold max_output_tokens over all attempts',
  },
  {
    name: 'unfinished responses counted side by side',
    file: 'domain/operations/schema/functions/admission.sql',
    replace: [['  perform pg_advisory_xact_lock(place);\n', '']],
    test: 'test/domain/responses/accept/active-limit.test.ts',
    caughtBy: 'for any number of concurrent requests at several gateways',
  },
  {
    name: 'a restored log that is not gone on behind',
    file: 'domain/operations/schema/migrate.ts',
    replace: [['    await continueRestoredLog(admin);\n', '']],
    test: 'test/domain/foundation/events/restored-log.test.ts',
    caughtBy: 'restored from a dump',
  },
  {
    name: 'a stream that keeps its request',
    file: 'api/rest/v1/responses/deliver.ts',
    replace: [['released from memory.\n  request.body = undefined;', 'released from memory.']],
    test: 'test/api/stream-memory.test.ts',
    caughtBy: 'keeps nothing of the request in memory',
  },
  {
    name: 'a tool server gets an answer to whatever it asks',
    file: 'adapters/tools/ending-transport.ts',
    replace: [['atOnce >= maxAnswers.atOnce || inAll', 'inAll']],
    test: 'test/adapters/tool-server-requests.test.ts',
    caughtBy: 'asks for ping without end',
  },
  {
    name: 'streams continued at the pace of the server',
    file: 'adapters/tools/ending-transport.ts',
    replace: [['Math.min(Math.max(delayMs, minMs), maxMs)', 'delayMs']],
    test: 'test/adapters/tool-server-requests.test.ts',
    caughtBy: 'is not asked again at once',
  },
  {
    name: 'pages of tools without end',
    file: 'adapters/tools/watched-fetch.ts',
    replace: [['share !== null && (share.bytes', 'share !== null && (share.bytes - share.bytes']],
    test: 'test/adapters/endless-tool-server.test.ts',
    caughtBy: 'pages of its list',
  },
  {
    name: 'values of an event not counted',
    file: 'adapters/egress/event-meter.ts',
    replace: [[' || this.#values > maxValues', '']],
    test: 'test/adapters/endless-tool-server.test.ts',
    caughtBy: 'many small values',
  },
  {
    name: 'events of an answer not counted',
    file: 'adapters/egress/event-meter.ts',
    replace: [['this.#events > (maxEvents ?? Infinity)', 'false']],
    test: 'test/adapters/endless-tool-server.test.ts',
    caughtBy: 'without end beside a call',
  },
  {
    name: 'a short answer that may take for ever',
    file: 'adapters/tools/watched-fetch.ts',
    replace: [['mayLast ? options.fetch : options.briefFetch', 'mayLast ? options.fetch : options.fetch']],
    test: 'test/adapters/endless-tool-server.test.ts',
    caughtBy: 'never ends its answer',
  },
  {
    name: 'a wait that keeps what was asked',
    file: 'api/rest/v1/responses/deliver.ts',
    replace: [['an hour too.\n  request.body = undefined;', 'an hour too.']],
    test: 'test/api/stream-memory.test.ts',
    caughtBy: 'a wait of the native surface keeps nothing of the request in memory',
  },
  {
    name: 'what a vendor wants back not counted',
    file: 'adapters/models/vendor-gateway.ts',
    replace: [['providerMetadata === undefined ? 0', 'true ? 0']],
    test: 'test/adapters/endless-items.test.ts',
    caughtBy: 'with too much provider state',
  },
  {
    name: 'items of an answer not counted',
    file: 'adapters/models/vendor-gateway.ts',
    replace: [['taken.items > max.items', 'false']],
    test: 'test/adapters/endless-items.test.ts',
    caughtBy: 'items never end',
  },
  {
    name: 'names that may be asked for without end',
    file: 'adapters/egress/resolve-names.ts',
    replace: [['{ timeout: questionMs, tries: 2 }', '{ timeout: 60_000, tries: 4 }']],
    test: 'test/adapters/resolve-names.test.ts',
    caughtBy: 'is never answered',
  },
  {
    name: 'keys of one address shared by providers',
    file: 'adapters/identity/key-sets.ts',
    replace: [['JSON.stringify([issuer, address])', 'JSON.stringify([address])']],
    test: 'test/adapters/key-sets.test.ts',
    caughtBy: 'names the key set of another provider',
  },
];
