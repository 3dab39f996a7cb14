import sharp from 'sharp'

interface PictureOptions {
  width?: number
  height?: number
  color?: string
}

function picture({ width = 4, height = 3, color = '#336699' }: PictureOptions) {
  return sharp({ create: { width, height, channels: 3, background: color } })
}

export async function png(options: PictureOptions = {}): Promise<Uint8Array> {
  return new Uint8Array(await picture(options).png().toBuffer())
}

export async function jpeg(options: PictureOptions = {}): Promise<Uint8Array> {
  return new Uint8Array(await picture(options).jpeg().toBuffer())
}
