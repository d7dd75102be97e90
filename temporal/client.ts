import { Client } from '@temporalio/client';
import { RenewedConnection, type RenewedOptions } from './renewed-connection.ts';

export interface TemporalOptions extends RenewedOptions {
  address: string;
  namespace: string;
}

/** A client that connects at its first use, so that a process starts while Temporal is unavailable. */
export function connectLazily({ address, namespace, ...options }: TemporalOptions): Client {
  return new Client({ connection: new RenewedConnection(address, options), namespace });
}
