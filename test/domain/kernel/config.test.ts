import { expect, it } from 'vitest';
import { gatewayConfig } from '../../support/gateway.ts';

const read = (TRUSTED_PROXIES: string) =>
  gatewayConfig('postgres://app_rt@127.0.0.1/platform', { TRUSTED_PROXIES }).TRUSTED_PROXIES;

it.each(['', 'loopback', '10.0.0.9', '10.0.0.0/8, fd00::/8', 'uniquelocal,::1'])(
  'trusted proxies may be %j',
  (text) => {
    expect(read(text)).toEqual(text === '' ? [] : text.split(/, ?/));
  },
);

it.each(['everybody', '10.0.0', '10.0.0.0/33', '10.0.0.0/0', 'true', '::/129', 'https://10.0.0.9', '1/2/3'])(
  'trusted proxies that are %j are refused by the name of the variable, without their value',
  (text) => {
    expect(() => read(text)).toThrow(
      'The configuration is not usable:\n  TRUSTED_PROXIES: must be addresses, ranges, loopback, linklocal or uniquelocal, separated by commas',
    );
  },
);
