import { z } from 'zod';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';
import type { SourceAccess } from '../provider.ts';
import { JsonApi, type Answer } from '../shared/json-api.ts';
import { withoutSlashes } from '../shared/web-url.ts';
import { githubFailure } from './failure.ts';
import { graphqlError, graphqlFailure, isAbsence } from './graphql-failure.ts';

const answer = z.object({ data: z.unknown().optional(), errors: z.array(graphqlError).max(1_000).nullish() });

interface Query<T> {
  query: string;
  variables: Record<string, unknown>;
  /** Of `data` in the answer. */
  data: z.ZodType<T>;
}

/** Queries of the GraphQL interface, which answers errors with status 200. */
export class GraphqlApi {
  readonly #api: JsonApi;
  readonly #isAnonymous: boolean;

  constructor(apiUrl: string, access: SourceAccess) {
    this.#api = new JsonApi(access, {
      base: graphqlBase(apiUrl),
      headers: { 'user-agent': 'platform' },
      failure: githubFailure,
    });
    this.#isAnonymous = access.credential === null && access.isConnected !== true;
  }

  /** @throws SourceFailure */
  async ask<T>(query: Query<T>, signal: AbortSignal): Promise<Answer<T>> {
    const found = await this.seek(query, { signal, absent: '' });
    if (found === null) {
      throw new SourceFailure('source_invalid', 'GitHub answers without what was asked for.');
    }
    return found;
  }

  /** Null where the service says that `absent` is not there: a field, as `repository.discussion`. */
  async seek<T>(
    { query, variables, data }: Query<T>,
    { signal, absent }: { signal: AbortSignal; absent: string },
  ): Promise<Answer<T> | null> {
    if (this.#isAnonymous) {
      // This interface is for authenticated users, also where the repository is public.
      throw new SourceFailure('auth_failed', 'GitHub shows discussions with a credential only.');
    }
    const { value, headers } = await this.#api.ask('/graphql', answer, {
      signal,
      body: { query, variables },
    });
    const errors = value.errors ?? [];
    if (errors.length > 0) {
      if (errors.every((each) => isAbsence(each, absent))) {
        return null;
      }
      throw graphqlFailure(errors, headers);
    }
    const parsed = data.safeParse(value.data);
    if (!parsed.success) {
      throw new SourceFailure('source_invalid', 'GitHub does not answer as its interface is documented.');
    }
    return { value: parsed.data, headers };
  }
}

/** Without `/graphql`: of GitHub Enterprise Server, REST is at `/api/v3` and GraphQL at `/api/graphql`. */
export function graphqlBase(apiUrl: string): string {
  return withoutSlashes(apiUrl).replace(/\/api\/v3$/, '/api');
}
