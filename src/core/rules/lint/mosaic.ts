/**
 * An image, reduced to a grid of average colors. Each cell has four bytes (red, green, blue, alpha), row by row. On a
 * strip, a cell is about as large as a letter of a label.
 */
export type Mosaic = Uint8Array

export const MOSAIC = { columns: 30, rows: 12 } as const
