/** Lets a sweep continue after a row that fails: the next round retries it. */
export class RowFailures {
  count = 0;

  async collect(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch {
      this.count += 1;
    }
  }
}
