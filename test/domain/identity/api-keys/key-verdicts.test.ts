import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { KeyVerdicts, type Verdict } from '#domain/identity/api-keys/key-verdicts.ts';
import { newId } from '#domain/foundation/kernel/ids.ts';

const verdictOf = (tenantId = newId(), leftMs = 3_600_000): Verdict => ({
  keyId: 'k',
  goodUntil: performance.now() + leftMs,
  identity: { tenantId, principalId: newId(), apiKeyId: newId(), keyPermissions: null },
});

const token = 'ak.k.secret';
let verdicts: KeyVerdicts;

const trust = () => verdicts.trust(performance.now());
const learn = (verdict: Verdict | null = verdictOf()) =>
  verdicts.findAnew(token, () => Promise.resolve(verdict));

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance', 'Date'] });
  vi.advanceTimersByTime(10_000);
  verdicts = new KeyVerdicts();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('the cached verdict on a key', () => {
  it('is not stored before notifications are known to arrive', async () => {
    await learn();
    trust();
    expect(verdicts.find(token)).toBeNull();
  });

  it('is its principal, under exactly this key', async () => {
    trust();
    const verdict = await learn();
    expect(verdicts.find(token)?.identity).toBe(verdict?.identity);
    expect(verdicts.find(`${token}x`)).toBeNull();
  });

  it('is never a refusal', async () => {
    trust();
    expect(await learn(null)).toBeNull();
    expect(verdicts.find(token)).toBeNull();
  });

  it('is not used a second after notifications were last known to arrive', async () => {
    trust();
    await learn();
    vi.advanceTimersByTime(800);
    expect(verdicts.find(token)).not.toBeNull();
    vi.advanceTimersByTime(199);
    expect(verdicts.find(token)).toBeNull();
    trust();
    expect(verdicts.find(token)).not.toBeNull();
  });

  it('is dropped after half a minute, however often it is used', async () => {
    trust();
    await learn();
    for (let second = 0; second < 29; second += 1) {
      vi.advanceTimersByTime(1_000);
      trust();
      expect(verdicts.find(token), `after ${second} s`).not.toBeNull();
    }
    vi.advanceTimersByTime(1_001);
    trust();
    expect(verdicts.find(token)).toBeNull();
  });

  it('ends when the key expires', async () => {
    trust();
    await learn(verdictOf(newId(), 500));
    vi.advanceTimersByTime(499);
    expect(verdicts.find(token)).not.toBeNull();
    vi.advanceTimersByTime(1);
    expect(verdicts.find(token)).toBeNull();
  });

  it('is dropped when its tenant’s access changes, and kept when another’s does', async () => {
    trust();
    const verdict = await learn();
    verdicts.forget(newId());
    expect(verdicts.find(token)).not.toBeNull();
    verdicts.forget(verdict!.identity.tenantId);
    expect(verdicts.find(token)).toBeNull();
  });

  it('is dropped when the connection is lost, also once it is back', async () => {
    trust();
    await learn();
    verdicts.forget();
    expect(verdicts.find(token)).toBeNull();
    trust();
    expect(verdicts.find(token)).toBeNull();
  });

  it('is not stored from a read that began before a change', async () => {
    trust();
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const looking = verdicts.findAnew(token, () => promise);
    const verdict = verdictOf();
    verdicts.forget(verdict.identity.tenantId);
    resolve(verdict);
    expect(await looking).toBe(verdict);
    expect(verdicts.find(token)).toBeNull();
  });
});
