import type { FetchLike } from '@modelcontextprotocol/client';
import type {
  AuthorizationTarget,
  Grant,
  RevocableToken,
} from '#domain/capabilities/connections/authorization-servers.ts';

/** Where an authorization server differs from RFC 6749 and RFC 7009; what is omitted follows them. */
export interface Dialect {
  /** Changes the address of the authorization request. */
  authorize?: (url: URL) => void;
  /** Changes the form of a request to the token endpoint. */
  ask?: (form: URLSearchParams) => void;
  /** The object that the token endpoint answers in the standard form; a member `error` makes it a refusal. */
  answer?: (body: Record<string, unknown>) => Record<string, unknown>;
  /** The request that revokes a token; null: tokens of this kind cannot be revoked. */
  revoke?: (
    endpoint: string,
    grant: Grant,
    token: RevocableToken,
  ) => { url: string; init: RequestInit } | null;
  /** Whether the answer says that the token is good for nothing any more. */
  isRevoked?: (status: number, body: Record<string, unknown>) => boolean;
}

/** By the slug of the provider of sources. */
export type Dialects = ReadonlyMap<string, Dialect>;

export const standard: Dialect = {};

export function dialectOf(dialects: Dialects, { source }: AuthorizationTarget): Dialect {
  return (source === undefined ? undefined : dialects.get(source.provider)) ?? standard;
}

/** A fetch for the token endpoint of a server that speaks the dialect. */
export function translated(fetch: FetchLike, { ask, answer }: Dialect): FetchLike {
  return async (url, init) => {
    if (init?.body instanceof URLSearchParams) {
      ask?.(init.body);
    }
    const response = await fetch(url, init);
    if (answer === undefined) {
      return response;
    }
    const body = objectIn(await response.text());
    const standardBody = body === null ? {} : answer(body);
    const status = response.ok && 'error' in standardBody ? 400 : response.status;
    return Response.json(standardBody, { status });
  };
}

/** Null: the text is no JSON object. */
export function objectIn(text: string): Record<string, unknown> | null {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === 'object' && body !== null && !Array.isArray(body)
      ? (body as Record<string, unknown>)
      : null;
  } catch {
    return null;
  }
}
