import type { TokenRequest } from '../../support/authorization/authorization-server.ts';
import type { CallEnd, MadeConnection } from './person.ts';
import type { ConnectionStruck } from './strikes.ts';

/** What an authorization server's own log says against a run. */
export interface TokenVerdict {
  refreshes: number;
  /** Refresh tokens that were used twice, of which the first answer was lost with a killed worker. */
  repeated: number;
  /** Used more than twice, or twice without a kill of a worker between. */
  usedTwice: string[];
  /** Connections that ended though no refresh token of theirs was refused. */
  lost: string[];
  /** Connections that ended since the server had revoked them. */
  revoked: number;
}

const isRefresh = ({ grantType }: TokenRequest): boolean => grantType === 'refresh_token';

/**
 * A refresh token is used once. Only where a worker was killed after its first use, so that the answer is lost, does the
 * next refresher send it again, once.
 */
export function judgeTokens(
  log: readonly TokenRequest[],
  struck: readonly ConnectionStruck[],
  { ends, made }: { ends: readonly CallEnd[]; made: readonly MadeConnection[] },
): TokenVerdict {
  const uses = Map.groupBy(log.filter(isRefresh), ({ form }) => String(form['refresh_token']));
  const repeated = [...uses.values()].filter((list) => list.length > 1);
  const usedTwice = repeated.flatMap(([first, second, ...more]) => {
    const isLost = struck.some(({ kind, at }) => kind === 'worker' && at > first!.at && at < second!.at);
    return isLost && more.length === 0 ? [] : [describeUses(struck, [first!, second!, ...more])];
  });
  const ended = ends.filter(({ output }) => output === 'authorization_required');
  const wrong = ended.filter((end) => !wasRevoked(log, made, end));
  return {
    refreshes: log.filter((each) => isRefresh(each) && each.error === null).length,
    repeated: repeated.length,
    usedTwice,
    lost: wrong.map(({ account, at }) => `${account} at ${Math.round(at)} ms`),
    revoked: new Set(
      log.filter(({ error }) => error === 'invalid_grant').map(({ form }) => form['refresh_token']),
    ).size,
  };
}

/** Names the strikes that came before each use. */
function describeUses(struck: readonly ConnectionStruck[], uses: readonly TokenRequest[]): string {
  const times = uses.map(({ at, error }) => {
    const before = struck.findLast((each) => each.at < at);
    const strike = before === undefined ? '' : `, ${Math.round(at - before.at)} ms after ${before.kind}`;
    return `${Math.round(at)} ms (${error ?? 'answered'}${strike})`;
  });
  return `${uses[0]!.sub}: one refresh token at ${times.join(' and ')}`;
}

/** Whether a refusal explains that the call found no connection: since the account was connected for the last time. */
function wasRevoked(
  log: readonly TokenRequest[],
  made: readonly MadeConnection[],
  { account, startedAt, at: endedAt }: CallEnd,
): boolean {
  const owners = new Map(log.map(({ issued, sub }) => [issued, sub]));
  const since = Math.max(
    0,
    ...made.filter((each) => each.account === account && each.at < startedAt).map(({ at }) => at),
  );
  return log.some(
    ({ sub, form, error, at }) =>
      error === 'invalid_grant' &&
      at > since &&
      at < endedAt &&
      (sub ?? owners.get(String(form['refresh_token']))) === account,
  );
}
