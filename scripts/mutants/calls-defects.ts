import type { Defect } from './defect.ts';

const outcomes = 'test/activities/tool-outcomes.test.ts';
const leases = 'test/activities/call-leases.test.ts';

/** In calls at tool servers. */
export const callsDefects: readonly Defect[] = [
  {
    name: 'lease ignored',
    file: 'domain/responses/calls/call-lease.ts',
    replace: [['return isAnothers && (', 'return isAnothers && looks < 0 && (']],
    test: leases,
    caughtBy: 'waits for the result of the first attempt',
  },
  {
    name: 'the lease is confirmed before the credential is opened',
    file: 'adapters/tools/mcp-client.ts',
    replace: [
      [
        'const present = await credentialOf(server, options, retryRead);',
        "if (!(await confirm())) return { kind: 'unconfirmed' }; const present = await credentialOf(server, options, retryRead);",
      ],
      ['if (!confirmed) {', 'if (session.place === "" && !confirmed) {'],
    ],
    test: 'test/activities/lease-before-send.test.ts',
    caughtBy: 'while its token is requested is not sent after its outcome',
  },
  {
    name: 'a claim that does not know itself again',
    file: 'domain/responses/calls/claim-call.ts',
    replace: [[': row.claimNonce === claimant.nonce;', ': false;']],
    test: leases,
    caughtBy: 'is recognised, and its call is made',
  },
  {
    name: 'a call of another definition than the one offered',
    file: 'domain/responses/calls/claim-call.ts',
    replace: [['tool?.target.schemaHash === row.schemaHash ? tool : null', 'tool']],
    test: 'test/domain/responses/calls/server-calls.test.ts',
    caughtBy: 'is withheld when another definition than the one offered was approved since',
  },
  {
    name: "a result that does not fit its schema taken for a server's refusal",
    file: 'adapters/tools/mcp-client.ts',
    replace: [
      ['const { outputSchema: _outputSchema, ...toolDefinition } = tool;', 'const toolDefinition = tool;'],
      [
        'const { lastResult, endedSilently } = transport;',
        'const { endedSilently } = transport; const lastResult = failure === null ? transport.lastResult : undefined;',
      ],
    ],
    test: outcomes,
    caughtBy: 'answers as no_structure',
  },
  {
    name: 'a timeout of a proxy taken for a refusal',
    file: 'adapters/tools/watched-fetch.ts',
    replace: [['405, 406, 410', '405, 406, 408, 410']],
    test: outcomes,
    caughtBy: 'answers as timed_out',
  },
  {
    name: "a tool server's echo of its credential kept",
    file: 'adapters/tools/mcp-client.ts',
    replace: [['text: session.remover.text(reply.text)', 'text: reply.text']],
    test: 'test/activities/tool-secrets.test.ts',
    caughtBy: 'reaches no item, prompt, stream or definition',
  },
  {
    name: 'base64 looked for at one alignment only',
    file: 'adapters/egress/secret-forms.ts',
    replace: [['...[0, 1, 2].map(', '...[0].map(']],
    test: 'test/adapters/secret-remover.test.ts',
    caughtBy: 'is removed as base64 at 1',
  },
  {
    name: 'a session for each call',
    file: 'adapters/tools/shared-sessions.ts',
    replace: [['if (this.#stateless.has(bound)) {', 'if (bound !== "") {']],
    test: 'test/e2e/tool-sessions.test.ts',
    caughtBy: 'share one, on any worker',
  },
];
