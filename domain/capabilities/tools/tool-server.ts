import { canonicalJson, sha256 } from '#domain/foundation/kernel/canonical-json.ts';
import type { CredentialIdentity, RetryRead } from '#domain/capabilities/credentials/credential-source.ts';
import type { ServerChallenge, ServerError } from './server-status.ts';

/** The port to tool servers; its implementation stands in adapters/tools. */
export interface ToolServerGateway {
  /** @throws ToolServerFailure */
  discover(server: ToolServerSpec, signal: AbortSignal): Promise<ToolList>;
  /**
   * One tool call. Every answer of the server is a reply, also an error of the tool or a changed definition.
   * @throws ToolServerFailure; its `sent` says whether the call may have reached the tool. Errors of `confirm` are
   * thrown unchanged.
   */
  call(server: ToolServerSpec, call: OutgoingCall, options: CallOptions): Promise<ToolReply>;
  /**
   * Refreshes the token of a server's connection if it is due, so that nothing of that happens between the start of a call
   * and its sending. Never throws: what fails here fails the call itself.
   */
  prepare(server: ToolServerSpec): Promise<void>;
  /** Ends a session that calls have shared, if the server still has it and is unchanged. */
  endSession(server: ToolServerSpec, session: string): Promise<void>;
}

export interface CallOptions {
  signal: AbortSignal;
  session: SharedSession;
  /**
   * Whether the call may still be made: awaited directly before each time it is sent, since credential, session and
   * tool list can take longer than the caller's right to the call lasts.
   */
  confirm: () => Promise<boolean>;
  /** Repeats the database read of a stored credential; requests to other servers are not repeated with it. */
  retryRead?: RetryRead;
}

export interface ToolServerSpec {
  tenantId: string;
  /** The server's space: a credential may be bound to one space. */
  spaceId: string;
  url: string;
  /** Name of the environment variable with the credential, which is bound to the server's origin. */
  credentialRef: string | null;
  /** null: `Authorization`, as a bearer token. */
  credentialHeader: string | null;
  /** The stored credential used instead, and the principal for whom it is used. */
  stored?: CredentialIdentity;
  /** The connection used instead. */
  connection?: ConnectionIdentity;
}

/** The connection that a call uses: that of the principal that asked, or the space's. */
export interface ConnectionIdentity {
  tenantId: string;
  serverId: string;
  /** null: the space's. */
  ownerId: string | null;
}

export interface OutgoingCall {
  tool: string;
  arguments: Record<string, unknown>;
  /** The same on every attempt at this call; sent as `Idempotency-Key` and in `_meta`. */
  idempotencyKey: string;
  /** Of the approved definition: a tool with another definition is not called. */
  schemaHash: string;
}

/** Storage of the session that the calls of one response at one server share. */
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
  /** It can be called only as a task, which this platform does not support. */
  requiresTask?: boolean;
}

/** A server's list, which may depend on the account that it is given to. */
export interface ToolList {
  tools: DiscoveredTool[];
  /** The connection that it was read with; null: none. */
  connectionId: string | null;
}

/** How a result's structured content violates the tool's `outputSchema`. */
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
  /** The tool ran and reported a failure, or the server refused the call. `text` is for the model alone. */
  | { kind: 'failed'; error: 'mcp_tool_execution_error' | 'mcp_protocol_error'; code: number; text: string }
  /** No call was made: `confirm` answered false. */
  | { kind: 'unconfirmed' }
  /** No call was made: the tool is not as approved. */
  | ({ kind: 'changed' } & ToolList);

/** A failure of a server or of the connection, without any text of the server. */
export class ToolServerFailure extends Error {
  readonly code: ServerError;
  /** Whether the call itself may have reached the server. */
  readonly sent: boolean;
  readonly status: number | null;
  /** Of a refusal that carried one. */
  readonly challenge: ServerChallenge | null;

  constructor(
    code: ServerError,
    options: { sent: boolean; status?: number | null; challenge?: ServerChallenge | null },
  ) {
    super(code);
    this.name = 'ToolServerFailure';
    this.code = code;
    this.sent = options.sent;
    this.status = options.status ?? null;
    this.challenge = options.challenge ?? null;
  }
}

/** The hash that a person approves: SHA-256 over all of a definition that reaches a model, a person or a client. */
export function schemaHash(tool: DiscoveredTool): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return sha256(canonicalJson([name, title, description, inputSchema, outputSchema, annotations]));
}
