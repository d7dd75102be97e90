/** Lets a sweep go on past a row that it cannot see to: the next round comes back to it. */
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
