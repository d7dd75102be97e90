import type { ToolLine } from '../support/tool-server.ts';
import type { ToolServer } from '../support/tool-servers.ts';
import { asObject, type Json } from '../support/stream-events.ts';
import type { Deployment } from './deployment.ts';
import type { Struck } from './strike.ts';

/** The tool server's records, compared with the ledger, the items and the log. */
export interface ToolVerdict {
  calls: number;
  arrivals: number;
  effects: number;
  /** Outcomes that are unknown, in the ledger. */
  unknown: number;
  /** By the clock, when each of them was recorded. */
  unknownAt: number[];
  /** Kills that fell between a tool's receipt of a call and its recorded outcome. */
  inFlight: number;
  /**
   * Each a sentence: an effect too many or too few, an unjustified arrival, an unknown outcome without its
   * event.
   */
  broken: string[];
}

interface LedgerRow {
  response_id: string;
  call_id: string;
  item_id: string;
  tool_name: string;
  idempotency_key: string;
  status: string;
  outcome: string;
  attempts: number;
}

const columns = 'response_id, call_id, item_id, tool_name, idempotency_key, status, outcome, attempts';

export async function verifyTools(
  { query, tools, world }: Deployment & { tools: ToolServer },
  struck: readonly Struck[],
): Promise<ToolVerdict> {
  const rows = await query<LedgerRow>(`select ${columns} from tool_calls where server_label is not null`);
  const events = await query<{ call_id: string; created_at: Date }>(
    `select metadata ->> 'call_id' as call_id, created_at from events where event_type = 'space.tool_outcome_unknown'`,
  );
  const items = await query<{ id: string; wire: string }>(
    `select id, wire from items where tenant_id = $1 and type = 'mcp_call'`,
    [world.tenantId],
  );
  const arrivals = tools.arrivals();
  const effects = tools.effects();
  const notified = Map.groupBy(events, (event) => event.call_id);
  const shown = new Map(items.map(({ id, wire }) => [id, JSON.parse(wire) as Json]));
  const byKey = { arrivals: group(arrivals), effects: group(effects) };
  const known = new Set(rows.map((row) => row.idempotency_key));
  const broken = [
    ...arrivals
      .filter(({ key }) => key === null || !known.has(key))
      .map(() => 'A call arrived that is in no ledger.'),
    ...arrivals
      .filter((line) => line.meta_key !== line.key)
      .map(() => 'Header and _meta carry different keys.'),
    ...rows.flatMap((row) =>
      verifyCall(row, {
        arrivals: byKey.arrivals.get(row.idempotency_key)?.length ?? 0,
        effects: byKey.effects.get(row.idempotency_key)?.length ?? 0,
        events: notified.get(row.call_id)?.length ?? 0,
        item: shown.get(row.item_id),
      }).map((why) => `${row.tool_name} of ${row.response_id}: ${why}`),
    ),
  ];
  const ended = new Map(rows.map((row) => [row.idempotency_key, row]));
  return {
    calls: rows.length,
    arrivals: arrivals.length,
    effects: effects.length,
    unknown: rows.filter((row) => row.outcome === 'unknown').length,
    unknownAt: events.map((event) => event.created_at.getTime()),
    inFlight: struck.filter(({ inTool = [] }) => inTool.some((held) => wasInterrupted(held, ended))).length,
    broken,
  };
}

interface Traces {
  arrivals: number;
  effects: number;
  events: number;
  item: Json | undefined;
}

function verifyCall(row: LedgerRow, { arrivals, effects, events, item }: Traces): string[] {
  const wrong: string[] = [];
  const isUnknown = row.outcome === 'unknown';
  if (row.tool_name === 'keyed_add' && effects !== 1) wrong.push(`took effect ${effects} times`);
  if (row.tool_name === 'unkeyed_add') {
    if (arrivals > 1) wrong.push(`arrived ${arrivals} times`);
    if (!isUnknown && effects !== 1) wrong.push(`succeeded with ${effects} effects`);
  } else if (row.outcome !== 'succeeded') {
    wrong.push(`ended ${row.outcome}`);
  }
  if (row.tool_name === 'repeatable_set' && effects === 0) wrong.push('succeeded without an effect');
  const code = asObject(item?.['error'] ?? {})['code'];
  if ((code === 'tool_outcome_unknown') !== isUnknown)
    wrong.push(`its item says ${JSON.stringify(item?.['error'])}`);
  if (events !== (isUnknown ? 1 : 0)) wrong.push(`${events} events tell of an unknown outcome`);
  return wrong;
}

/**
 * A call that had arrived, was not recorded when its worker died, and needed another worker to resolve it.
 */
export interface HeldCall {
  key: string;
  attempts: number;
}

function wasInterrupted({ key, attempts }: HeldCall, ended: ReadonlyMap<string, LedgerRow>): boolean {
  const row = ended.get(key);
  return row !== undefined && (row.outcome === 'unknown' || row.attempts > attempts);
}

/** Calls that have reached the tool and whose outcome the ledger does not have yet. */
export async function callsInTool(deployment: Deployment): Promise<(HeldCall & { responseId: string })[]> {
  const { tools, query } = deployment;
  if (tools === null) return [];
  const arrived = new Set(tools.arrivals().map((line) => line.key));
  const rows = await query<LedgerRow>(
    `select ${columns} from tool_calls where server_label is not null and status = 'started'`,
  );
  return rows
    .filter((row) => arrived.has(row.idempotency_key))
    .map((row) => ({ key: row.idempotency_key, attempts: row.attempts, responseId: row.response_id }));
}

function group(lines: readonly ToolLine[]): Map<string, ToolLine[]> {
  return Map.groupBy(lines, (line) => line.key ?? '');
}
