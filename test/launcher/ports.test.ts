import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { requireFreePorts } from '../../bin/launcher/ports.ts';

it('a port that a killed process gives up a moment later is free, and one that it does not is taken', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const wanted = [{ port, owner: 'the gateway', variable: 'PORT' }];
  await expect(requireFreePorts(wanted)).rejects.toThrow(`Port ${port}, which the gateway needs, is taken`);
  setTimeout(() => server.close(), 300);
  await requireFreePorts(wanted);
});
