import { Server } from 'node:net';

/**
 * Loaded into the process of the suite: its servers listen at ports that the test has chosen, since the product reaches
 * private origins only when they are listed. Nothing else about them changes.
 */
const ports = (process.env['CONFORMANCE_PORTS'] ?? '').split(',').map(Number);
// oxlint-disable-next-line typescript/unbound-method -- called with the server as `this`
const listen = Server.prototype.listen as (this: Server, ...given: unknown[]) => Server;

Server.prototype.listen = function listenAtKnownPort(this: Server, ...given: unknown[]) {
  const [port, ...more] = given;
  return listen.call(this, port === 0 ? ports.shift() : port, ...more);
} as typeof Server.prototype.listen;
