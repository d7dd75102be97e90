import { fileURLToPath } from 'node:url';
import { buildPinned } from './build-pinned.ts';
import type { ObtainTemporal } from './download-temporal.ts';

const temporal = {
  module: fileURLToPath(new URL('../../temporal/dev-server', import.meta.url)),
  package: 'github.com/temporalio/cli/cmd/temporal',
  // Google's storage, of which the server archives nothing here, without its gRPC transport.
  tags: 'disable_grpc_modules',
  doing: 'building the Temporal server with Go, about three minutes, once on this machine',
};

export function buildTemporal(input: ObtainTemporal): Promise<void> {
  return buildPinned(temporal, input);
}
