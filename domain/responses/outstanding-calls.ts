import type { EntityManager } from '@mikro-orm/postgresql';
import type { Secrets } from '#domain/kernel/secrets.ts';
import { callId, itemId } from './item-ids.ts';
import { keepItem } from './item-store.ts';
import type { FunctionCall, McpApprovalRequest } from './output-items.ts';
import type { RequestedCall } from './plan-calls.ts';
import type { OfferedMcpTool } from './response-request.ts';
import type { Response } from './response.entity.ts';
import type { StreamEvent } from './stream-events.ts';

interface Keeping {
  em: EntityManager;
  secrets: Secrets;
  response: Response;
}

/** A call that the caller runs: its output comes with the next response. */
export function returnCall({ em, secrets, response }: Keeping, call: RequestedCall): StreamEvent[] {
  const outputIndex = response.nextOutputIndex++;
  const item: FunctionCall = {
    id: itemId(secrets, 'fc', response.id, outputIndex),
    type: 'function_call',
    status: 'completed',
    call_id: callId(secrets, response.id, outputIndex),
    name: call.name,
    arguments: call.arguments,
  };
  keepCall({ em, response }, call, { outputIndex, item, callId: item.call_id });
  const place = { item_id: item.id, output_index: outputIndex };
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress', arguments: '' },
    },
    { type: 'response.function_call_arguments.delta', ...place, delta: call.arguments },
    { type: 'response.function_call_arguments.done', ...place, arguments: call.arguments },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}

/** A call that somebody must consent to: nothing is run before. */
export function askApproval(
  { em, secrets, response }: Keeping,
  call: RequestedCall,
  offer: OfferedMcpTool,
): StreamEvent[] {
  const outputIndex = response.nextOutputIndex++;
  const item: McpApprovalRequest = {
    id: itemId(secrets, 'mcpr', response.id, outputIndex),
    type: 'mcp_approval_request',
    status: 'completed',
    server_label: offer.server_label,
    name: offer.tool,
    arguments: call.arguments,
  };
  keepCall({ em, response }, call, { outputIndex, item, callId: callId(secrets, response.id, outputIndex) });
  return [
    {
      type: 'response.output_item.added',
      output_index: outputIndex,
      item: { ...item, status: 'in_progress' },
    },
    { type: 'response.output_item.done', output_index: outputIndex, item },
  ];
}

function keepCall(
  { em, response }: Pick<Keeping, 'em' | 'response'>,
  call: RequestedCall,
  as: { outputIndex: number; item: FunctionCall | McpApprovalRequest; callId: string },
): void {
  const { outputIndex, item } = as;
  const exchange = { call_id: as.callId, name: call.name, arguments: call.arguments, result: null };
  keepItem(em, response, { outputIndex, item, exchange, providerState: call.providerState ?? null });
}

/** Whether a response has calls that only its caller can bring on. */
export async function waitsForCaller(em: EntityManager, responseId: string): Promise<boolean> {
  const rows = await em.execute(
    `select from items where response_id = ? and output_index is not null
       and type in ('function_call', 'mcp_approval_request') limit 1`,
    [responseId],
  );
  return rows.length > 0;
}
