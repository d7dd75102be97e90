import { describe, expect, it } from 'vitest';
import { addressKey } from '#api/limits/address-key.ts';

describe('the key of an address', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['::FFFF:c000:201', '192.0.2.1'],
    ['0:0:0:0:0:ffff:c000:0201', '192.0.2.1'],
    ['64:ff9b::192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2::1', '2001:db8:1:2::/64'],
    ['2001:DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
    ['2001:0db8:0001:0002:0003::', '2001:db8:1:2::/64'],
    ['2001:db8:1:3::1', '2001:db8:1:3::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['fe80::2%a/b:c%d\n', 'fe80:0:0:0::/64'],
  ])('of %j is %j', (address, key) => {
    expect(addressKey(address)).toBe(key);
  });

  it.each(['', '%', '%eth0', 'unknown', '::1::', '192.0.2.1:80', '[2001:db8::1]', '2001:db8::g', '1.2.3'])(
    'of %j, which is no address, is the text itself',
    (text) => {
      expect(addressKey(text)).toBe(text);
    },
  );

  it('is the same for each address of a network, and another for each other network', () => {
    const of = (network: number) =>
      Array.from({ length: 50 }, (_, i) =>
        addressKey(`2001:db8:0:${network.toString(16)}::${i.toString(16)}`),
      );
    const keys = Array.from({ length: 50 }, (_, network) => new Set(of(network)));
    expect(keys.map(({ size }) => size)).toEqual(Array.from({ length: 50 }, () => 1));
    expect(new Set(keys.flatMap((each) => [...each])).size).toBe(50);
  });
});
