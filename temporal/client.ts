import { Client, Connection } from '@temporalio/client';

export interface TemporalOptions {
  address: string;
  namespace: string;
}

/** A client that connects when it is first used, so that a process starts while Temporal is away. */
export function connectLazily(options: TemporalOptions): Client {
  const connection = Connection.lazy({ address: options.address, connectTimeout: '5s' });
  return new Client({ connection, namespace: options.namespace });
}
