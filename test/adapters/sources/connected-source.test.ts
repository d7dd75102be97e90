import { describe, expect, it } from 'vitest';
import { ConnectedAccount } from '#adapters/sources/connected-source.ts';
import { statusFailure } from '#adapters/sources/shared/http-failure.ts';
import type {
  ConnectionSource,
  UsableConnection,
} from '#domain/capabilities/connections/connection-source.ts';
import { SourceFailure } from '#domain/knowledge/connectors/source.ts';

const identity = { tenantId: 'tenant', connectorId: 'connector', origin: 'https://files.example.com' };
const tokens = (generation: number): UsableConnection => ({
  connectionId: 'connection',
  generation,
  accessToken: `access-${generation}`,
  tokenType: 'Bearer',
  dpopKey: null,
});

describe('the account of a source', () => {
  it('has the token refreshed that the refused work has used, also where other work uses another one', async () => {
    let present = 1;
    const renewed: number[] = [];
    const ended: number[] = [];
    const connections: ConnectionSource = {
      read: async () => tokens(present),
      renew: async (_identity, { generation }) => {
        renewed.push(generation);
        // As the stored connection: a token that is not the present one was refreshed already.
        if (generation === present) present += 1;
        return tokens(present);
      },
      refuse: async (_identity, { generation }) => void ended.push(generation),
      needScope: async () => undefined,
    };
    const account = new ConnectedAccount(connections, identity);
    const work = (accepts: string) => async () => {
      const token = await account.token();
      if (token !== accepts) throw new SourceFailure('auth_failed', 'refused');
      return token;
    };
    expect(await account.renewing(work('access-1'))).toBe('access-1');
    // Another process has refreshed it, and the source refuses that one, too.
    present = 2;
    expect(await account.renewing(work('access-3'))).toBe('access-3');
    expect([renewed, ended]).toEqual([[2], []]);
    const both = [account.renewing(work('access-4')), account.renewing(work('access-4'))];
    expect(await Promise.all(both)).toEqual(['access-4', 'access-4']);
    expect([renewed, ended]).toEqual([[2, 3, 3], []]);
  });

  it('stays connected where its source refuses one thing with HTTP 403', async () => {
    const calls: string[] = [];
    const connections: ConnectionSource = {
      read: async () => tokens(1),
      renew: async () => (calls.push('renew'), tokens(2)),
      refuse: async () => void calls.push('refuse'),
      needScope: async () => undefined,
    };
    const account = new ConnectedAccount(connections, identity);
    const refusing = (status: number) => async () => {
      await account.token();
      throw statusFailure(new Response(null, { status }));
    };
    await expect(account.renewing(refusing(403))).rejects.toMatchObject({ code: 'auth_failed' });
    expect(calls).toEqual([]);
    await expect(account.renewing(refusing(401))).rejects.toMatchObject({ code: 'auth_failed' });
    expect(calls).toEqual(['renew', 'refuse']);
  });
});
