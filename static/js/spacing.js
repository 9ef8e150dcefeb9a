// Places labels in a column, each beside what it labels.

// The middles of labels, as near as possible to the points that they belong to. Labels that would overlap stand in a block
// around the mean of their points; two blocks become one if the second would begin above the end of the first.
//
// points: from the top down, in pixels. row: the height of a label. height: of the column; it has room for all labels.
export function withoutOverlaps(points, row, height) {
  const blocks = [];
  points.forEach((point, n) => {
    // The sum of the points, each less the heights of all labels before it: divided by the count, it says where the first
    // label of the whole column would stand if this block stood around the mean of its points.
    let block = { sum: point - n * row, count: 1 };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).count > block.sum / block.count) {
      const before = blocks.pop();
      block = { sum: before.sum + block.sum, count: before.count + block.count };
    }
    blocks.push(block);
  });
  const highest = row / 2;
  const lowest = height - (points.length - 0.5) * row; // of the first label, when the last one stands at the bottom
  const firsts = blocks.flatMap(({ sum, count }) => Array(count).fill(Math.max(highest, Math.min(lowest, sum / count))));
  return firsts.map((first, n) => first + n * row);
}
