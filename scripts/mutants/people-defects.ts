import type { Defect } from './defect.ts';

const fanOuts = 'test/domain/operations/notifications/fan-out.test.ts';

/** In permissions, the event log and notifications: also sign-in, membership, skills. */
export const peopleDefects: readonly Defect[] = [
  {
    name: 'event outside the transaction',
    file: 'domain/foundation/events/record-event.ts',
    replace: [
      [
        `  const [row] = await em.execute<{ written: number }[]>('select app.record_events(`,
        // A new tenant's first events could not be written at all.
        `  const outside = (work) => event.type === 'space.updated' ? em.transactional(work, { propagation: 'requires_new' }) : work(em);
  const [row] = await outside((other) => other.execute('select app.record_events(`,
      ],
      ['{ ip: ip ?? null })]),\n  ]);', '{ ip: ip ?? null })]),\n  ]));'],
    ],
    test: 'test/domain/foundation/events/record-event.test.ts',
    caughtBy: 'exactly when its change is',
  },
  {
    name: 'sealing that skips one event',
    file: 'domain/foundation/events/seal-events.ts',
    replace: [
      [
        'select * from due where place < coalesce(',
        'select * from due where place <> 2 and place < coalesce(',
      ],
    ],
    test: 'test/domain/foundation/events/verify-chain.test.ts',
    caughtBy: 'finds nothing in an unchanged log',
  },
  {
    name: 'sealing beside a transaction that still runs',
    file: 'domain/foundation/events/seal-events.ts',
    replace: [
      ['      and e.transaction_id < app.log_position(pg_snapshot_xmin(pg_current_snapshot()))\n', ''],
    ],
    test: 'test/domain/foundation/events/verify-chain.test.ts',
    caughtBy: 'continues after events recorded while other transactions were open',
  },
  {
    name: 'count by ten minutes taken for ten that a window cuts',
    file: 'domain/operations/schema/functions/events.sql',
    replace: [
      [
        `whole_low := app.floor_to(v_low + finest::interval - interval '1 microsecond', finest);`,
        `whole_low := app.floor_to(v_low, finest);`,
      ],
    ],
    test: 'test/domain/foundation/events/event-list.test.ts',
    caughtBy: 'equal a count of every event',
  },
  {
    name: 'fan-out without the unique key',
    file: 'domain/operations/schema/migrations/baseline/notifications.sql',
    replace: [['  unique (tenant_id, event_id, user_id),\n', '']],
    test: fanOuts,
    caughtBy: 'is notified once each, in pages, whatever is repeated',
  },
  {
    name: 'a burst of refusals starts a workflow each',
    file: 'domain/foundation/events/fan-out.ts',
    replace: [
      ['coalescingKey: waits === null ? null : `${event.type}/${event.actorId}`,', 'coalescingKey: null,'],
    ],
    test: fanOuts,
    caughtBy: 'of a refusal in a burst of 200 enqueues one start',
  },
  {
    name: 'a period claimed by an attempt that was lost stays claimed',
    file: 'domain/operations/notifications/decide-delivery.ts',
    replace: [
      [
        'where coalesce(notified_periods.event_id, excluded.event_id) = excluded.event_id',
        'where notified_periods.event_id is null',
      ],
    ],
    test: fanOuts,
    caughtBy: 'also when its first page is repeated after a crash',
  },
  {
    name: 'actor excluded from workflow events',
    file: 'domain/operations/notifications/deliver-page.ts',
    replace: [
      [
        ` && metadata['via'] !== 'workflow' && metadata['via'] !== 'schedule'`,
        ` && metadata['via'] !== 'elsewhere'`,
      ],
    ],
    test: fanOuts,
    caughtBy: 'includes the requester of a response that failed in its workflow',
  },
  {
    name: 'nonce not checked',
    file: 'domain/identity/sign-in/check-id-token.ts',
    replace: [
      [
        'if (expected.hashNonce(claims.nonce) !== expected.nonceHash) {',
        "if (expected.hashNonce(claims.nonce) === '') {",
      ],
    ],
    test: 'test/domain/identity/sign-in/check-id-token.test.ts',
    caughtBy: 'with another nonce',
  },
  {
    name: 'callback accepted at a slug',
    file: 'domain/identity/sign-in/finish-callback.ts',
    replace: [
      [
        'provider !== login.provider.id ||',
        '(provider !== login.provider.id && provider !== login.provider.slug) ||',
      ],
    ],
    test: 'test/api/hostile-sign-in.test.ts',
    caughtBy: 'with the same id as its slug is sent no code of a sign-in of ours',
  },
  {
    name: 'handle usable twice',
    file: 'domain/identity/sign-in/redeem-handle.ts',
    replace: [['set handle_hash = null', 'set handle_hash = handle_hash']],
    test: 'test/api/sign-in.test.ts',
    caughtBy: 'takes a handle once',
  },
  {
    name: 'refresh of a retired token accepted',
    file: 'domain/identity/sessions/rotation.ts',
    replace: [
      [
        "return overlaps ? advance(family, family.generation, 'none') : { kind: 'reuse' };",
        "return overlaps || token.retiredAt > 0 ? advance(family, family.generation, 'none') : { kind: 'reuse' };",
      ],
    ],
    test: 'test/domain/identity/sessions/rotation.test.ts',
    caughtBy: 'equals the model in 5,000 random sequences',
  },
  {
    name: 'permission read from a cache after revocation',
    file: 'domain/foundation/access/load-caller.ts',
    replace: [
      [
        '/** The current permissions of `identity`, read in the current transaction. */',
        'const remembered = new Map<string, { access: AccessRecord | null }>();\n',
      ],
      [
        'const [row] = await em.execute<{ access: AccessRecord | null }[]>(',
        `const place = \`\${identity.principalId} \${admission.spaceId}\`;
  const [row] = remembered.has(place) ? [remembered.get(place)] : await em.execute<{ access: AccessRecord | null }[]>(`,
      ],
      [
        'return admitFound(identity, origin, row?.access ?? null, admission);',
        'if (row !== undefined) {\n    remembered.set(place, row);\n  }\n  return admitFound(identity, origin, row?.access ?? null, admission);',
      ],
    ],
    test: 'test/api/workspace.test.ts',
    caughtBy: 'is added as space_member or with another role, changed and removed',
  },
  {
    name: 'skill ignored in offers',
    file: 'domain/responses/offer/skill-tools.ts',
    replace: [
      [
        'skill === null || allowsTool(skill.allowed_tools, name)',
        'skill === null || name.startsWith(`mcp__${server.slug}__`)',
      ],
    ],
    test: 'test/e2e/skills.test.ts',
    caughtBy: 'is offered only the servers and tools that the skill names',
  },
  {
    name: 'skill ignored at the call',
    file: 'domain/responses/calls/claim-call.ts',
    replace: [
      [
        'tool !== null && !again && !isInSkill(response, row)',
        'tool !== null && again && !isInSkill(response, row)',
      ],
    ],
    test: 'test/e2e/skills.test.ts',
    caughtBy: 'makes no call whose approval was requested without the skill',
  },
  {
    name: 'tracing secret stored as it is',
    file: 'domain/operations/observability/set-observability.ts',
    replace: [['await sealField(ctx, secretPlace(place), input.secretKey)', 'input.secretKey']],
    test: 'test/domain/operations/observability/config.test.ts',
    caughtBy: 'is sealed at rest',
  },
  {
    name: 'another trace id each time',
    file: 'domain/responses/record/trace-ids.ts',
    replace: [['sha256(`trace/${responseId}`)', 'sha256(`trace/${responseId}/${Math.random()}`)']],
    test: 'test/domain/operations/observability/config.test.ts',
    caughtBy: 'are the same each time',
  },
  {
    name: 'the secret of an unknown key is not compared',
    file: 'domain/identity/api-keys/prove-api-key.ts',
    replace: [['const matches = secretMatches(', 'const matches = row.usable && secretMatches(']],
    test: 'test/api/key-timing.test.ts',
    caughtBy: 'costs one query and one hash for every cause',
  },
  {
    name: 'a gateway believes to hear as soon as it listens',
    file: 'api/sse/wake-listener.ts',
    replace: [['      await this.#expectNotification(client);\n', '']],
    test: 'test/api/revocation.test.ts',
    caughtBy: 'behind a pooler that answers LISTEN and delivers nothing',
  },
  {
    name: 'a connection that ended while it was proved to hear is taken as being up',
    file: 'api/sse/wake-listener.ts',
    replace: [
      ["await client.query(soon('listen access'));", ''],
      ["soon('listen wake')", "soon('listen wake; listen access')"],
    ],
    test: 'test/api/wake-listener.test.ts',
    caughtBy: 'that ends during a probe does not count as connected',
  },
];
