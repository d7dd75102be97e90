import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import type { CredentialIdentity } from '#domain/capabilities/credentials/credential-source.ts';
import type { ServerError } from './server-status.ts';

/** The port to tool servers; its implementation stands in adapters/tools. */
export interface ToolServerGateway {
  /** @throws ToolServerFailure */
  discover(server: ToolServerSpec, signal: AbortSignal): Promise<DiscoveredTool[]>;
  /**
   * One tool call. What the server answers is a reply, be it an error of the tool or a changed definition.
   * @throws ToolServerFailure; its `sent` tells whether the call may have reached the tool.
   */
  call(
    server: ToolServerSpec,
    call: OutgoingCall,
    options: { signal: AbortSignal; session: SharedSession },
  ): Promise<ToolReply>;
  /** Ends a session that calls have shared, if the server still has it and is what it was. */
  endSession(server: ToolServerSpec, session: string): Promise<void>;
}

export interface ToolServerSpec {
  tenantId: string;
  /** Whose server it is: a credential may be bound to one space. */
  spaceId: string;
  url: string;
  /** Name of the environment variable with the credential, which is bound to the server's origin. */
  credentialRef: string | null;
  /** null: `Authorization`, as a bearer token. */
  credentialHeader: string | null;
  /** A stored credential instead, and for whom it is used. */
  stored?: CredentialIdentity;
}

export interface OutgoingCall {
  tool: string;
  arguments: Record<string, unknown>;
  /** Equal on every attempt at this call; sent as `Idempotency-Key` and in `_meta`. */
  idempotencyKey: string;
  /** Of the approved definition: a tool that has another one now is not called. */
  schemaHash: string;
}

/** Where the calls of one response at one server keep the session that they share. */
export interface SharedSession {
  /** The same for all of these calls. */
  name: string;
  read(): Promise<string | null>;
  save(session: string): Promise<void>;
}

export interface DiscoveredTool {
  name: string;
  title: string | null;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema: Record<string, unknown> | null;
  annotations: Record<string, unknown> | null;
  /** It can be called as a task only, which this platform does not do. */
  requiresTask?: boolean;
}

/** What is wrong with a result's structured content, of which the tool's `outputSchema` says otherwise. */
export type Misfit = 'missing' | 'different';

/** An image or a sound. */
export interface ToolMedia {
  mediaType: string;
  /** Base64. */
  data: string;
}

export type ToolReply =
  /** `media` beside the text, which names each. */
  | { kind: 'succeeded'; text: string; media?: ToolMedia[]; misfit?: Misfit }
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

/** What a person approves: SHA-256 over all of a definition that reaches a model, a person or a client. */
export function schemaHash(tool: DiscoveredTool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return sha256(canonicalJson([name, title, description, inputSchema, outputSchema, annotations]));
}
