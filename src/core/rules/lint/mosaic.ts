/** The average colors of an image in a grid: red, green, blue, and alpha of each cell, row by row. */
export type Mosaic = Uint8Array

export const MOSAIC = { columns: 30, rows: 12 } as const
