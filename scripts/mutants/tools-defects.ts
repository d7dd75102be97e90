import type { Defect } from './defect.ts';

const approval = 'test/api/tool-approval.test.ts';
const room = 'test/domain/responses/offer/tool-room.test.ts';

/** In the records of tools, and in which tools are offered. */
export const toolsDefects: readonly Defect[] = [
  {
    name: 'an approval without a hash',
    file: 'domain/capabilities/tools/enable-tools.ts',
    replace: [
      ['if (schemaHash === tool.schemaHash) {', 'if ((schemaHash ?? tool.schemaHash) === tool.schemaHash) {'],
    ],
    test: approval,
    caughtBy: 'is required with the hash of the definition',
  },
  {
    name: 'a key that a model server says back is passed on',
    file: 'adapters/models/key-remover.ts',
    replace: [['apiKey.length < minKeyLength', 'apiKey.length > 0']],
    test: 'test/adapters/echoed-keys.test.ts',
    caughtBy: 'echoes is removed, also across pieces',
  },
  {
    name: 'a name that approves whatever a server lists under it later',
    file: 'domain/capabilities/tools/apply-discovery.ts',
    replace: [
      ["tool.approvedHash == null && server.enabledTools.includes('*')", 'tool.approvedHash == null'],
    ],
    test: 'test/api/tool-approval.test.ts',
    caughtBy: 'is not approved under a name that was enabled',
  },
  {
    name: 'a tool that requires tasks offered',
    file: 'domain/capabilities/tools/apply-discovery.ts',
    replace: [['seen.requiresTask === true', 'false']],
    test: 'test/domain/responses/offer/offers.test.ts',
    caughtBy: 'exclude a tool that can be called as a task only',
  },
  {
    name: 'a session left open behind a cancel',
    file: 'activities/responses/run-call.ts',
    replace: [["if (written === 'late') {", "if (written === 'held') {"]],
    test: 'test/e2e/tool-sessions.test.ts',
    caughtBy: 'end it with the last of them, where the response was cancelled before',
  },
  {
    name: 'found definitions not screened',
    file: 'activities/responses/search-tools.ts',
    replace: [['screenOffer(offer, redactor)', 'offer']],
    test: 'test/activities/search-tools.test.ts',
    caughtBy: 'hold tokens in the place of personal data',
  },
  {
    name: 'images of every result read',
    file: 'domain/operations/schema/functions/responses-write.sql',
    replace: [
      [
        "case when g.media > 4 then g.exchange - 'media' else g.exchange end,\n        'provider_state', g.provider_state) order by g.output_index)",
        "g.exchange, 'provider_state', g.provider_state) order by g.output_index)",
      ],
    ],
    test: 'test/domain/responses/calls/tool-media.test.ts',
    caughtBy: 'is given such parts of the last tool results',
  },
  {
    name: 'output schema not in the hash',
    file: 'domain/capabilities/tools/tool-server.ts',
    replace: [['inputSchema, outputSchema, annotations]));', 'inputSchema, annotations]));']],
    test: approval,
    caughtBy: 'is of the output schema too',
  },
  {
    name: 'repeatable outlasts the definition',
    file: 'domain/capabilities/tools/mcp-tool.entity.ts',
    replace: [['this.repeatable = false;', '']],
    test: approval,
    caughtBy: 'revokes a setting that trusts the tool',
  },
  {
    name: 'results with hidden characters',
    file: 'activities/responses/screen-call.ts',
    replace: [['const { text } = withoutHidden(answered);', 'const text = answered;']],
    test: 'test/activities/run-call.test.ts',
    caughtBy: 'without the characters that only a model would see',
  },
  {
    name: 'room for tools by name of the server',
    file: 'domain/responses/offer/share-room.ts',
    replace: [['share(each) < share(min) ? each : min', 'min']],
    test: room,
    caughtBy: 'is shared by the servers',
  },
  {
    name: 'found tools are forgotten',
    file: 'domain/responses/turn/claim-turn.ts',
    replace: [['withFound(response.request, state.own)', 'response.request']],
    test: room,
    caughtBy: 'offers them from the next turn on',
  },
];
