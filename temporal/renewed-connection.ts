import { Connection, isGrpcDeadlineError, type ConnectionLike, type Metadata } from '@temporalio/client';

type Service = ConnectionLike['workflowService'];

export interface RenewedOptions {
  /** Called for each call that was not answered in time. */
  onHung?: (() => void) | undefined;
  /** No call on this connection is a long poll. */
  answerWithinMs?: number;
}

/**
 * A connection on which each call has a deadline. A missed deadline is taken as a sign that the host has vanished:
 * later calls use a new connection, since gRPC's own keep-alive may not ping more often than a server allows.
 */
export class RenewedConnection implements ConnectionLike {
  readonly plugins = [];
  readonly #address: string;
  readonly #onHung: (() => void) | undefined;
  readonly #answerWithinMs: number;
  #current: Connection;

  constructor(address: string, { onHung, answerWithinMs = 5_000 }: RenewedOptions = {}) {
    this.#address = address;
    this.#onHung = onHung;
    this.#answerWithinMs = answerWithinMs;
    this.#current = this.#open();
  }

  get workflowService(): Service {
    const connection = this.#current;
    return new Proxy(connection.workflowService, {
      get: (service, name) => {
        const member: unknown = Reflect.get(service, name, service);
        return typeof member === 'function'
          ? (...args: unknown[]) =>
              this.#ask(connection, () => Reflect.apply(member, service, args) as unknown)
          : member;
      },
    });
  }

  get operatorService(): ConnectionLike['operatorService'] {
    return this.#current.operatorService;
  }

  close(): Promise<void> {
    return this.#current.close();
  }

  ensureConnected(): Promise<void> {
    return this.#current.ensureConnected();
  }

  withDeadline<R>(deadline: number | Date, work: () => Promise<R>): Promise<R> {
    return this.#current.withDeadline(deadline, work);
  }

  withMetadata<R>(metadata: Metadata, work: () => Promise<R>): Promise<R> {
    return this.#current.withMetadata(metadata, work);
  }

  withAbortSignal<R>(signal: AbortSignal, work: () => Promise<R>): Promise<R> {
    return this.#current.withAbortSignal(signal, work);
  }

  async #ask(connection: Connection, call: () => unknown): Promise<unknown> {
    const hasDeadline = connection.callContextStorage.getStore()?.deadline !== undefined;
    try {
      return await (hasDeadline
        ? call()
        : connection.withDeadline(Date.now() + this.#answerWithinMs, async () => call()));
    } catch (error) {
      if (isGrpcDeadlineError(error)) {
        this.#onHung?.();
        this.#renew(connection);
      }
      throw error;
    }
  }

  /** Other calls that are pending on the old connection run until their own deadline. */
  #renew(old: Connection): void {
    if (old === this.#current) {
      this.#current = this.#open();
      setTimeout(() => void old.close(), this.#answerWithinMs).unref();
    }
  }

  #open(): Connection {
    return Connection.lazy({
      address: this.#address,
      connectTimeout: '5s',
      channelArgs: {
        // Otherwise a new connection would reuse the old connection's socket.
        'grpc.use_local_subchannel_pool': 1,
        'grpc.keepalive_time_ms': 15_000,
        'grpc.keepalive_timeout_ms': 5_000,
      },
    });
  }
}
