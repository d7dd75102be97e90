import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { claimPort } from '../support/free-port.ts';
import { openToolWorld, type ToolWorld } from '../support/tool-world.ts';
import { addMember, createWorld, scriptedModel } from '../support/world.ts';
import type { Platform } from './platform-client.ts';
import { failureOf, scenariosOf } from './suite.ts';

/** Revisions of the tool protocol, each on its own wire. */
const revisions = ['2025-11-25', '2026-07-28'] as const;

/** Scored scenarios that do not apply, with the reason. */
const notApplicable: Record<string, string> = {
  'elicitation-sep1034-client-defaults':
    'A server asks a person for values in the midst of a call. The product declares no elicitation: no person waits beside a response that runs on a worker.',
  'sep-2322-client-request-state':
    'The same question as a result that asks for input: the call ends and says so, and nobody answers in the name of a person.',
};

/** Scenarios that the suite does not score, and that the product passes all the same. */
const unscoredOnes = [
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
  'auth/dpop',
  'auth/dpop-nonce',
  'json-schema-2020-12-preservation',
];
/** Extensions with grants that the product does not have. */
const otherExtensions: Record<string, string> = {
  'auth/enterprise-managed-authorization':
    'The company’s identity provider grants access in place of the person: no identity assertion is kept that could be exchanged.',
  'auth/wif-jwt-bearer': 'The platform has no workload identity that an authorization server would trust.',
};

/** The tools of all scenarios. For each there is a script, which calls it with the text of the request as arguments. */
const scripts = `test-tool add_numbers test_reconnection test_headers my-hyphenated-tool lookup_user
  test_custom_headers test_custom_headers_null json_schema_2020_12_tool json_schema_echo valid_tool
  invalid_empty_header invalid_object_header invalid_array_header invalid_null_header invalid_space_in_name
  invalid_colon_in_name invalid_non_ascii_name invalid_control_char_name invalid_duplicate_same_case
  invalid_duplicate_diff_case`
  .split(/\s+/)
  .map((name) => ({
    name,
    text: 'Done.',
    echo: true as const,
    calls: [[{ name: `mcp__suite__${name}`, arguments: '$user' }]],
  }));

/** Scenarios run in turns, as many at once as there are sets of ports. */
const atOnce = 2;
const portsEach = 6;
const free: number[][] = [];
const waiting: ((ports: number[]) => void)[] = [];

let tools: ToolWorld;

beforeAll(async () => {
  for (let each = 0; each < atOnce; each += 1) {
    free.push(await Promise.all(Array.from({ length: portsEach }, claimPort)));
  }
  tools = await openToolWorld({
    scripts,
    origins: free.flat().map((port) => `http://localhost:${port}`),
    env: { MCP_CLIENT_DOCUMENT_URL: 'https://conformance-test.local/client-metadata.json' },
  });
});
afterAll(() => tools?.stop());

async function withPorts<T>(work: (ports: number[]) => Promise<T>): Promise<T> {
  const ports = free.pop() ?? (await new Promise<number[]>((give) => waiting.push(give)));
  try {
    return await work(ports);
  } finally {
    const next = waiting.shift();
    if (next === undefined) free.push(ports);
    else next(ports);
  }
}

/** A tenant of its own: nothing is known of servers that listened at the same address before. */
async function newPlatform(): Promise<Platform> {
  const { unitOfWork } = tools.database;
  const world = await createWorld(unitOfWork, [scriptedModel(tools.models, scripts[0]!.name)]);
  const { apiKey } = await addMember(unitOfWork, world, { spaceRole: 'space_admin' });
  return { url: tools.stack.gateways[0]!.url, spaceId: world.spaceId, apiKey };
}

const lists = Object.fromEntries(
  await Promise.all(revisions.map(async (revision) => [revision, await scenariosOf(revision)] as const)),
);

it('the suite knows what is said not to apply', () => {
  const scored = new Set(Object.values(lists).flatMap((list) => list.scored));
  expect(Object.keys(notApplicable).filter((name) => !scored.has(name))).toEqual([]);
});

describe.each(revisions)('the conformance suite at revision %s', (revision) => {
  const { scored, unscored } = lists[revision]!;
  const applicable = scored.filter((name) => notApplicable[name] === undefined);

  it('lists what is known here', () => {
    expect(applicable.length).toBeGreaterThan(15);
    expect(unscored.toSorted()).toEqual([...unscoredOnes, ...Object.keys(otherExtensions)].toSorted());
  });

  it.concurrent.each([...applicable, ...unscoredOnes])('%s', { timeout: 300_000 }, async (scenario) => {
    const failure = await withPorts(async (ports) =>
      failureOf(scenario, { revision, platform: await newPlatform(), ports }),
    );
    expect(failure).toBeNull();
  });
});
