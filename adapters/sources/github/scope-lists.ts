import type { SourceAccess } from '../provider.ts';
import { JsonApi } from '../shared/json-api.ts';
import { DiscussionReader } from './discussion-reader.ts';
import { githubFailure } from './failure.ts';
import { GraphqlApi } from './graphql-api.ts';
import { IssueReader } from './issue-reader.ts';
import type { KindReader } from './kind-reader.ts';
import type { GithubScope } from './scope.ts';

/** A list of the documents of a repository. */
export interface ScopeList {
  /** Its name in checkpoints. */
  key: string;
  repository: string;
  /** Between repository and number in references. */
  mark: '#' | '/discussions/';
  reader: KindReader;
}

/** What a scope names, in the order in which it is listed. */
export function listsOf(scope: GithubScope, access: SourceAccess): ScopeList[] {
  const readers: Pick<ScopeList, 'mark' | 'reader'>[] = [];
  if (scope.kinds.includes('issues') || scope.kinds.includes('pull_requests')) {
    readers.push({ mark: '#', reader: new IssueReader(scope, restApi(scope, access)) });
  }
  if (scope.kinds.includes('discussions')) {
    const api = new GraphqlApi(scope.api_url, access);
    readers.push({ mark: '/discussions/', reader: new DiscussionReader(scope, api) });
  }
  return scope.repositories.flatMap((repository) =>
    readers.map((each) => ({
      ...each,
      repository,
      key: each.mark === '#' ? repository : `${repository}/discussions`,
    })),
  );
}

/** The list and the number that a reference names; null: it is of none of them. */
export function findListed(
  lists: readonly ScopeList[],
  ref: string,
): { list: ScopeList; number: number } | null {
  const [, repository, mark, number] = /^([^#/]+\/[^#/]+)(#|\/discussions\/)(\d{1,15})$/.exec(ref) ?? [];
  const list = lists.find((each) => each.repository === repository && each.mark === mark);
  return list === undefined ? null : { list, number: Number(number) };
}

function restApi(scope: GithubScope, access: SourceAccess): JsonApi {
  return new JsonApi(access, {
    base: scope.api_url,
    headers: {
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
      'user-agent': 'platform',
    },
    failure: githubFailure,
  });
}
