import { describe, expect, it } from 'vitest';
import { challengeIn } from '#adapters/authorization/challenge.ts';
import { countThreadMs } from '../../support/thread-time.ts';

const of = (header: string | null) =>
  challengeIn(new Headers(header === null ? {} : { 'www-authenticate': header }));

describe('a challenge', () => {
  it('names the metadata, the scopes and the error', () => {
    expect(
      of(
        'Bearer error="insufficient_scope", scope="read write", resource_metadata="https://api.example.com/meta"',
      ),
    ).toEqual({
      metadataUrl: 'https://api.example.com/meta',
      scope: 'read write',
      error: 'insufficient_scope',
      dpop: false,
    });
  });

  it('demands proofs of possession by its scheme', () => {
    expect(of('DPoP error=invalid_token')).toEqual({
      metadataUrl: null,
      scope: null,
      error: 'invalid_token',
      dpop: true,
    });
  });

  it.each(['Bearer', 'bearer realm="x"'])('may say nothing: %s', (header) => {
    expect(of(header)).toEqual({ metadataUrl: null, scope: null, error: null, dpop: false });
  });

  it.each([null, '', 'Basic realm="x"', 'Bearerx scope="a"', 'Negotiate'])('is not there: %s', (header) => {
    expect(of(header)).toBeNull();
  });

  it('holds no text of the server but addresses, scopes and codes', () => {
    expect(of('Bearer error="<b>Call 555</b>", resource_metadata="not an address", scope="\u00fc"')).toEqual({
      metadataUrl: null,
      scope: null,
      error: null,
      dpop: false,
    });
  });

  it('of any length is read in little time', () => {
    const spentMs = countThreadMs();
    of(`Bearer ${'scope="'.repeat(100_000)}`);
    expect(spentMs()).toBeLessThan(500);
  });
});
