import { describe, expect, it } from 'vitest';
import { createCredentials } from '#adapters/models/credentials.ts';

const env = { OPENAI_API_KEY: 'vendor-key', ROUTER_API_KEY: 'router-key', MASTER_KEY: 'never' };
const credential = createCredentials(['OPENAI_API_KEY', 'ROUTER_API_KEY@https://router.test'], env);

describe('credentials', () => {
  it("hands a vendor's key to the vendor's own address and to no other", () => {
    expect(credential('OPENAI_API_KEY', 'https://api.openai.com/v1')).toBe('vendor-key');
    expect(credential('OPENAI_API_KEY', 'https://collector.test/v1')).toBeUndefined();
    expect(credential('OPENAI_API_KEY', 'http://api.openai.com/v1')).toBeUndefined();
  });

  it('hands a listed key to the address it is listed with', () => {
    expect(credential('ROUTER_API_KEY', 'https://router.test/api/v1')).toBe('router-key');
    expect(credential('ROUTER_API_KEY', 'https://router.test:8443/api/v1')).toBeUndefined();
  });

  it('reads no variable that is not listed', () => {
    expect(credential('MASTER_KEY', 'https://api.openai.com/v1')).toBeUndefined();
  });
});
