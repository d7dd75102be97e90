import { canonicalJson, sha256 } from '#domain/kernel/canonical-json.ts';
import type { ServerError } from './server-status.ts';

/** The port to tool servers; its implementation stands in adapters/tools. */
export interface ToolServerGateway {
  /** @throws ToolServerFailure */
  discover(server: ToolServerSpec, signal: AbortSignal): Promise<DiscoveredTool[]>;
  /**
   * One tool call. What the server answers is a reply, be it an error of the tool or a changed definition.
   * @throws ToolServerFailure; its `sent` tells whether the call may have reached the tool.
   */
  call(server: ToolServerSpec, call: OutgoingCall, signal: AbortSignal): Promise<ToolReply>;
}

export interface ToolServerSpec {
  /** Whose server it is: a credential may be bound to one space. */
  spaceId: string;
  url: string;
  /** Name of the environment variable with the credential, which is bound to the server's origin. */
  credentialRef: string | null;
  /** null: `Authorization`, as a bearer token. */
  credentialHeader: string | null;
}

export interface OutgoingCall {
  tool: string;
  arguments: Record<string, unknown>;
  /** Equal on every attempt at this call; sent as `Idempotency-Key` and in `_meta`. */
  idempotencyKey: string;
  /** Of the approved definition: a tool that has another one now is not called. */
  schemaHash: string;
}

export interface DiscoveredTool {
  name: string;
  title: string | null;
  description: string;
  inputSchema: Record<string, unknown>;
  annotations: Record<string, unknown> | null;
}

export type ToolReply =
  | { kind: 'succeeded'; text: string }
  /** The tool ran and says that it failed, or the server refused the call. `text` is for the model alone. */
  | { kind: 'failed'; error: 'mcp_tool_execution_error' | 'mcp_protocol_error'; code: number; text: string }
  /** Nothing was called: the tool is not what was approved. */
  | { kind: 'changed'; tools: DiscoveredTool[] };

/** A failure of a server or of the way to it, stripped of everything that was said. */
export class ToolServerFailure extends Error {
  readonly code: ServerError;
  /** Whether the call itself may have reached the server. */
  readonly sent: boolean;
  readonly status: number | null;

  constructor(code: ServerError, options: { sent: boolean; status?: number | null }) {
    super(code);
    this.name = 'ToolServerFailure';
    this.code = code;
    this.sent = options.sent;
    this.status = options.status ?? null;
  }
}

/** What a person approves: SHA-256 over all of a definition that reaches a model or steers a client. */
export function schemaHash(
  tool: Pick<DiscoveredTool, 'name' | 'description' | 'inputSchema' | 'annotations'>,
): string {
  return sha256(canonicalJson([tool.name, tool.description, tool.inputSchema, tool.annotations]));
}
