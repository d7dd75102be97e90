import type { Defect } from './defect.ts';

const stream = 'domain/operations/schema/functions/stream.sql';
const responseWrites = 'domain/operations/schema/functions/responses-write.sql';
const rowLevelSecurity = 'domain/operations/schema/migrations/baseline/row-level-security.sql';
const turns = 'test/domain/responses/turn/turns.test.ts';
const changes = 'test/domain/responses/store/response-change.test.ts';
const publishing = 'test/domain/responses/store/publishing.test.ts';
const clocks = 'test/domain/responses/turn/clocks.test.ts';
const limits = 'test/domain/responses/turn/limits.test.ts';
const serverCalls = 'test/domain/responses/calls/server-calls.test.ts';

/** In generating answers: turns, calls, streams, keys, tools, models. */
export const engineDefects: readonly Defect[] = [
  {
    name: 'no epoch check',
    file: stream,
    replace: [['writer_epoch = p_epoch[i] and next_n', 'p_epoch[i] is not null and next_n']],
    test: turns,
    caughtBy: 'fences the attempt before',
  },
  {
    name: 'no compare-and-set on next_n',
    file: stream,
    replace: [['and next_n = p_first_n[i] and', 'and p_first_n[i] is not null and']],
    test: turns,
    caughtBy: 'only at the stream’s next number',
  },
  {
    name: 'FORCE removed from one table',
    file: 'domain/operations/schema/migrations/helpers.sql',
    replace: [
      [
        `execute format('alter table %s force row level security', p_table);`,
        `if p_table <> 'items'::regclass then execute format('alter table %s force row level security', p_table); end if;`,
      ],
    ],
    test: 'test/domain/operations/schema/row-level-security.test.ts',
    caughtBy: 'forces row-level security on every table',
  },
  {
    name: 'readers woken before the commit',
    file: 'domain/responses/store/response-change.ts',
    replace: [
      [
        "  const answer = row?.answer ?? 'conflict';\n",
        `  const answer = row?.answer ?? 'conflict';
  await em.fork().transactional((other) => other.execute("select pg_notify('wake', ?)", [\`\${change.response.id}:\${change.response.nextN - 1}\`]));
`,
      ],
    ],
    test: publishing,
    caughtBy: 'before the commit, then everything',
  },
  {
    name: 'outbox row deleted before the start',
    file: 'temporal/dispatcher.ts',
    replace: [
      ['await send(deps, row);', 'await removeFromOutbox(deps.database, row);'],
      [
        `hitFailpoint('dispatch.after_start');
        await removeFromOutbox(deps.database, row);`,
        `hitFailpoint('dispatch.after_start');
        await send(deps, row);`,
      ],
    ],
    test: 'test/temporal/dispatcher.test.ts',
    caughtBy: 'keeps the row when Temporal does not accept the start',
  },
  {
    name: 'NOTIFY dropped on the model lane',
    file: stream,
    replace: [
      [
        `if woken <> '' then\n    perform pg_notify('wake', woken);`,
        `if woken <> '' then\n    perform length(woken);`,
      ],
    ],
    test: publishing,
    caughtBy: 'notifies the listeners with the last number of each run',
  },
  {
    name: 'NOTIFY dropped with a change',
    file: responseWrites,
    replace: [[`perform pg_notify('wake', p_response ||`, `perform length(p_response ||`]],
    test: changes,
    caughtBy: 'notifies the listeners with its last number',
  },
  {
    name: "a change written over another's",
    file: responseWrites,
    replace: [['or old.writer_epoch <> p_epoch or old.next_n <> p_next_n then', 'then']],
    test: changes,
    caughtBy: 'is not written once its lane has another writer',
  },
  {
    name: 'a step of the ledger taken twice',
    file: responseWrites,
    replace: [['and c.call_index = n.call_index and c.status = n.was', 'and c.call_index = n.call_index']],
    test: changes,
    caughtBy: 'only from the state that was read',
  },
  {
    name: 'cursor MAC ignored',
    file: 'domain/foundation/kernel/page.ts',
    replace: [[' || !timingSafeEqual(given, expected)', '']],
    test: 'test/domain/foundation/kernel/page.test.ts',
    caughtBy: 'its position was changed and its signature kept',
  },
  {
    name: "crash counted as a vendor's failure",
    file: 'domain/responses/turn/fail-turn.ts',
    replace: [
      [
        `TurnAttempt, { ...place, outcome: 'vendor_failed' }`,
        `TurnAttempt, { ...place, outcome: { $in: ['vendor_failed', 'crashed'] } }`,
      ],
    ],
    test: limits,
    caughtBy: 'is counted separately from crashes',
  },
  {
    name: 'surrogate pair split',
    file: 'domain/responses/stream/continuation.ts',
    replace: [
      [
        'const boundary = last >= 0xd800 && last <= 0xdbff ? text.length - 1 : text.length;',
        'const boundary = text.length;',
      ],
    ],
    test: 'test/domain/responses/stream/message-composer.test.ts',
    caughtBy: 'half of a surrogate pair',
  },
  {
    name: 'permission check removed from a use case',
    file: 'domain/responses/accept/create-response.ts',
    replace: [[`authorize(ctx.caller, 'responses.create');`, '']],
    test: 'test/domain/foundation/access/use-case-permissions.test.ts',
    caughtBy: 'createResponse refuses a caller without responses.create',
  },
  {
    name: 'expiry by the process clock',
    file: 'domain/responses/read/read-response.ts',
    replace: [
      [
        'const { next_n: nextN, expires_in_ms: expiresInMs, record: finished } = row;',
        `const { next_n: nextN, record: finished } = row;
         const head = (row.head ?? JSON.parse(finished ?? '{}')) as { expires_at: string };
         const expiresInMs = Date.parse(head.expires_at) - Date.now();`,
      ],
    ],
    test: clocks,
    caughtBy: 'a response runs, is read and ends as usual',
  },
  {
    name: 'a revoked key is remembered',
    file: 'api/sse/stream-hub.ts',
    replace: [['          memory?.forget(tenantId);\n', '']],
    test: 'test/api/revocation.test.ts',
    caughtBy: 'is refused by both within a second of its revocation through one',
  },
  {
    name: 'a key is trusted while nothing can be heard',
    file: 'domain/identity/api-keys/credential-cache.ts',
    replace: [['this.#trustedUntil = at + trustMs;', 'this.#trustedUntil = Number.POSITIVE_INFINITY;']],
    test: 'test/domain/identity/api-keys/credential-cache.test.ts',
    caughtBy: 'is not used a second after notifications were last known to arrive',
  },
  {
    name: 'one reader is given what another may do',
    file: 'domain/operations/schema/functions/responses-read.sql',
    replace: [[' or p_principal[i] <> p_principal[i - 1]', '']],
    test: 'test/api/get-response.test.ts',
    caughtBy: 'shows each of many callers at the same moment their own',
  },
  {
    name: 'expiry not enforced by row-level security',
    file: rowLevelSecurity,
    replace: [[`finished_at is null or`, `true or`]],
    test: clocks,
    caughtBy: 'an expired response cannot be read',
  },
  {
    name: 'deadline by the process clock',
    file: 'domain/foundation/persistence/database-now.ts',
    replace: [['return new Date(row?.now ?? Number.NaN);', 'return new Date();']],
    test: clocks,
    caughtBy: 'a deadline comes when the database says so',
  },
  {
    name: 'turn claimed by the process clock',
    file: 'domain/responses/prompt/read-turn.ts',
    replace: [['now: new Date(now), requester', 'now: new Date(), requester']],
    test: clocks,
    caughtBy: 'a response runs, is read and ends as usual',
  },
  {
    name: 'committed turn runs again',
    file: 'domain/responses/turn/claim-turn.ts',
    replace: [[`if (existing?.status === 'committed') {`, `if (existing?.result === undefined) {`]],
    test: turns,
    caughtBy: 'with its stored result',
  },
  {
    name: 'no poison guard',
    file: 'domain/responses/turn/claim-turn.ts',
    replace: [['recent.length === poisonLimit &&', 'recent.length > poisonLimit &&']],
    test: turns,
    caughtBy: 'ten times in a row',
  },
  {
    name: 'usage settled twice',
    file: 'domain/responses/store/usage.ts',
    replace: [
      ['if (entry === null || entry.settled) {', 'if (entry === null) {'],
      ['{ responseId: response.id, settled: false }', '{ responseId: response.id }'],
    ],
    test: limits,
    caughtBy: 'estimates an interrupted attempt once',
  },
  {
    name: 'repeated prefix not taken off',
    file: 'domain/responses/stream/message-composer.ts',
    replace: [["prefix === '' ? null : new ContinuationMatcher(before === '' ? prefix : before)", 'null']],
    test: 'test/domain/responses/stream/stream-invariants.test.ts',
    caughtBy: 'keeps O1 to O10',
  },
  {
    name: 'two activities of the workflow swapped',
    file: 'workflows/generate-response/workflow.ts',
    replace: [
      ['const { runTurn } = proxy', 'const { runCall: runTurn } = proxy'],
      ['const { runCall } = proxy', 'const { runTurn: runCall } = proxy'],
    ],
    test: 'test/replay/replay.test.ts',
    caughtBy: 'replay on the workflows of today',
  },
  {
    name: 'closing activity cancelled with its workflow',
    file: 'workflows/generate-response/workflow.ts',
    replace: [['CancellationScope.nonCancellable(() =>', 'CancellationScope.cancellable(() =>']],
    test: 'test/workflows/generate-response.test.ts',
    caughtBy: 'though the workflow itself is being cancelled',
  },
  {
    name: 'provider state dropped',
    file: 'domain/responses/store/item-store.ts',
    replace: [['    providerState,\n    supersededBy', '    providerState: null,\n    supersededBy']],
    test: 'test/domain/responses/record/provider-state.test.ts',
    caughtBy: 'is sent back exactly',
  },
  {
    name: 'ledger started after the call',
    file: 'domain/responses/calls/claim-call.ts',
    replace: [["    row.status = 'started';\n", '']],
    test: serverCalls,
    caughtBy: 'is unknown, whatever the server claims',
  },
  {
    name: 'key changing between attempts',
    file: 'domain/responses/calls/claim-call.ts',
    replace: [['idempotencyKey: row.idempotencyKey,', 'idempotencyKey: row.idempotencyKey + row.attempts,']],
    test: serverCalls,
    caughtBy: 'is made again with the same key',
  },
  {
    name: 'annotation trusted',
    file: 'domain/capabilities/tools/approved-tool.ts',
    replace: [
      [
        'repeatable: tool.repeatable,',
        `repeatable: tool.repeatable || tool.annotations?.['idempotentHint'] === true,`,
      ],
    ],
    test: serverCalls,
    caughtBy: 'is unknown, whatever the server claims',
  },
  {
    name: 'drift ignored in offers',
    file: 'domain/capabilities/tools/mcp-tool.entity.ts',
    replace: [[`state === 'approved' && approvedHash === schemaHash`, 'approvedHash !== null']],
    test: 'test/domain/responses/offer/offers.test.ts',
    caughtBy: 'without a request are all that are enabled',
  },
  {
    name: 'drift ignored at the call',
    file: 'adapters/tools/mcp-client.ts',
    replace: [[' || schemaHash(found) !== call.schemaHash', '']],
    test: 'test/adapters/tool-server.test.ts',
    caughtBy: 'is not called when the tool is not what was approved',
  },
  {
    name: 'egress guard resolving twice',
    file: 'adapters/egress/guarded-fetch.ts',
    replace: [['{ ...options, hostname: address, servername:', '{ ...options, servername:']],
    test: 'test/adapters/guarded-fetch.test.ts',
    caughtBy: 'resolves a name once and dials exactly',
  },
  {
    name: 'consent used twice',
    file: 'domain/responses/accept/tool-input.ts',
    replace: [['where id = ? and answered_by is null returning id', 'where id = ? returning id']],
    test: serverCalls,
    caughtBy: 'is made by no second approval',
  },
  {
    name: 'a tenant that outlives its call',
    file: 'domain/operations/schema/functions/access.sql',
    replace: [
      [
        `, true);
  return (
    select jsonb_build_object(
      'tenant_status'`,
        `, false);
  return (
    select jsonb_build_object(
      'tenant_status'`,
      ],
    ],
    test: 'test/domain/foundation/persistence/pool-context.test.ts',
    caughtBy: 'sees its own tenant’s rows only',
  },
];
