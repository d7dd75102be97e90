import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { CredentialCache, type VerifiedCredential } from '#domain/identity/api-keys/credential-cache.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';

const verdictOf = (tenantId = newId(), leftMs = 3_600_000): VerifiedCredential => ({
  keyId: 'k',
  goodUntil: performance.now() + leftMs,
  identity: { tenantId, principalId: newId(), apiKeyId: newId(), keyPermissions: null },
});

const token = 'ak.k.secret';
let credentialCache: CredentialCache;

const trust = () => credentialCache.trust(performance.now());
const learn = (verdict: VerifiedCredential | null = verdictOf()) =>
  credentialCache.refresh(token, () => Promise.resolve(verdict));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  vi.advanceTimersByTime(10_000);
  credentialCache = new CredentialCache();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the cached verdict on a key', () => {
  it('is not stored before notifications are known to arrive', async () => {
    await learn();
    trust();
    expect(credentialCache.find(token)).toBeNull();
  });

  it('is its principal, under exactly this key', async () => {
    trust();
    const verdict = await learn();
    expect(credentialCache.find(token)?.identity).toBe(verdict?.identity);
    expect(credentialCache.find(`${token}x`)).toBeNull();
  });

  it('is never a refusal', async () => {
    trust();
    expect(await learn(null)).toBeNull();
    expect(credentialCache.find(token)).toBeNull();
  });

  it('is not used a second after notifications were last known to arrive', async () => {
    trust();
    await learn();
    vi.advanceTimersByTime(800);
    expect(credentialCache.find(token)).not.toBeNull();
    vi.advanceTimersByTime(199);
    expect(credentialCache.find(token)).toBeNull();
    trust();
    expect(credentialCache.find(token)).not.toBeNull();
  });

  it('is dropped after half a minute, however often it is used', async () => {
    trust();
    await learn();
    for (let second = 0; second < 29; second += 1) {
      vi.advanceTimersByTime(1_000);
      trust();
      expect(credentialCache.find(token), `after ${second} s`).not.toBeNull();
    }
    vi.advanceTimersByTime(1_001);
    trust();
    expect(credentialCache.find(token)).toBeNull();
  });

  it('ends when the key expires', async () => {
    trust();
    await learn(verdictOf(newId(), 500));
    vi.advanceTimersByTime(499);
    expect(credentialCache.find(token)).not.toBeNull();
    vi.advanceTimersByTime(1);
    expect(credentialCache.find(token)).toBeNull();
  });

  it('is dropped when its tenant’s access changes, and kept when another’s does', async () => {
    trust();
    const verdict = await learn();
    credentialCache.forget(newId());
    expect(credentialCache.find(token)).not.toBeNull();
    credentialCache.forget(verdict!.identity.tenantId);
    expect(credentialCache.find(token)).toBeNull();
  });

  it('is dropped when the connection is lost, also once it is back', async () => {
    trust();
    await learn();
    credentialCache.forget();
    expect(credentialCache.find(token)).toBeNull();
    trust();
    expect(credentialCache.find(token)).toBeNull();
  });

  it('is not stored from a read that began before a change', async () => {
    trust();
    const { promise, resolve } = Promise.withResolvers<VerifiedCredential>();
    const looking = credentialCache.refresh(token, () => promise);
    const verdict = verdictOf();
    credentialCache.forget(verdict.identity.tenantId);
    resolve(verdict);
    expect(await looking).toBe(verdict);
    expect(credentialCache.find(token)).toBeNull();
  });
});
