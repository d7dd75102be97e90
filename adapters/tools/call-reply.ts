import { ProtocolError } from '@modelcontextprotocol/client';
import { cleanText } from '#domain/foundation/kernel/clean-text.ts';
import type { ToolReply } from '#domain/capabilities/tools/tool-server.ts';
import type { SecretRemover } from '../egress/secret-remover.ts';
import { readResult, toRecord } from './tool-result.ts';
import type { Wire } from './watched-fetch.ts';

const maxTextLength = 16_384;
const leftOut = '[The tool has answered; its answer was too large and was left out.]';
const asksForInput =
  'The tool asks for more input, which nobody can give it here; it has not come to its end.';

/** Converts the raw result of the server. Null: the tool is still running, or the result type is unknown. */
function replyOf(written: unknown, remover: SecretRemover): ToolReply | null {
  const result = toRecord(written);
  const { resultType = 'complete' } = result;
  if (resultType === 'input_required') {
    return { kind: 'failed', error: 'mcp_tool_execution_error', code: 0, text: asksForInput };
  }
  if (resultType !== 'complete') {
    return null;
  }
  const { text, media } = readResult(result, remover);
  return result['isError'] === true
    ? { kind: 'failed', error: 'mcp_tool_execution_error', code: 0, text }
    : { kind: 'succeeded', text, ...(media.length === 0 ? {} : { media }) };
}

/** The known outcome of a call, whatever error the client raises for its answer; null: unknown. */
export function replyIn({
  failure,
  wire,
  lastResult,
  endedSilently,
  remover,
}: {
  failure: unknown;
  wire: Wire;
  lastResult: unknown;
  endedSilently: boolean;
  /** Of the credential that was sent: media that hold it are left out; the caller cleans the text. */
  remover: SecretRemover;
}): ToolReply | null {
  if (lastResult !== undefined) {
    return replyOf(lastResult, remover);
  }
  if (wire.exceeded?.isLate === false && wire.answering !== null) {
    return wire.answering === 'result'
      ? { kind: 'succeeded', text: leftOut }
      : { kind: 'failed', error: 'mcp_protocol_error', code: 0, text: leftOut };
  }
  if (failure instanceof ProtocolError && !endedSilently) {
    const text = cleanText(failure.message).slice(0, maxTextLength);
    return { kind: 'failed', error: 'mcp_protocol_error', code: failure.code, text };
  }
  return null;
}
