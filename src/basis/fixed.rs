//! Bases of fixed functions, which store no points.

use ndarray::ArrayView2;

use super::{Basis, BasisBlocks, BasisFile, BasisGrowth, BasisPoints};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelSpec};
use crate::linalg::{Coordinates, Panel};
use crate::persist::{Reader, Writer};
use crate::validate::check_rows;

/// Functions of a point, as many for every point.
pub trait Functions: Clone + Send + Sync {
    /// The functions for points with `width` features and this kernel with known parameters.
    fn begin(&mut self, width: usize, kernel: &Kernel) -> Result<()>;

    /// Number of functions; 0 before [`begin`](Self::begin).
    fn count(&self) -> usize;

    /// Writes results of [`begin`](Self::begin) that take long to compute, if any.
    fn write(&self, _out: &mut Writer) {}

    /// [`begin`](Self::begin) with the output of [`write`](Self::write). Memory for recomputed
    /// results is bounded, since the file may be small.
    fn read(&mut self, width: usize, kernel: &Kernel, _from: &Reader<'_>) -> Result<()> {
        self.begin(width, kernel)
    }

    /// Their values at `x`. `values` holds [`count`](Self::count) numbers.
    fn evaluate(&self, x: &[f64], values: &mut [f64]);
}

/// A basis of [`Functions`]: all coordinates exist from the first row on.
#[derive(Clone, Debug)]
pub struct Fixed<F> {
    kernel: KernelSpec,
    functions: F,
    /// The kernel with resolved parameters, and the width, once it is known.
    begun: Option<(Kernel, usize)>,
}

impl<F: Functions> Fixed<F> {
    /// The basis of these functions, with validated parameters. Their products approximate the
    /// kernel.
    pub fn of(kernel: impl Into<KernelSpec>, functions: F) -> Self {
        Self { kernel: kernel.into(), functions, begun: None }
    }

    /// The functions.
    #[must_use]
    pub fn functions(&self) -> &F {
        &self.functions
    }
}

impl<F: Functions> Basis for Fixed<F> {
    fn dim(&self) -> usize {
        self.functions.count()
    }

    fn width(&self) -> Option<usize> {
        self.begun.as_ref().map(|(_, width)| *width)
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        if self.begun.is_none() {
            let kernel = self.kernel.resolve(width)?;
            self.functions.begin(width, &kernel)?;
            self.begun = Some((kernel, width));
        }
        Ok(())
    }

    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        match &self.begun {
            Some((kernel, _)) => check_rows(kernel, "X", rows),
            None => check_rows(&self.kernel.resolve(rows.ncols())?, "X", rows),
        }
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        let n = self.functions.count();
        let (values, _) = z.prepare(n);
        values[n..].fill(0.0);
        self.functions.evaluate(x, &mut values[..n]);
        0.0
    }
}

impl<F: Functions> BasisBlocks for Fixed<F> {
    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let (mut x, mut values) = (Vec::new(), vec![0.0; self.functions.count()]);
        z.reshape(rows.nrows(), values.len());
        for (i, row) in rows.rows().into_iter().enumerate() {
            x.clear();
            x.extend(row);
            self.functions.evaluate(&x, &mut values);
            z.set_row(i, &values);
        }
        vec![0.0; rows.nrows()]
    }

    fn max_block_len(&self) -> usize {
        usize::MAX
    }
}

impl<F: Functions> BasisGrowth for Fixed<F> {
    fn appends_only(&self) -> bool {
        true
    }

    fn is_full(&self) -> bool {
        true
    }

    fn is_bounded(&self) -> bool {
        !self.kernel.is_steep()
    }
}

impl<F: Functions> BasisPoints for Fixed<F> {
    fn similarity(&self, x: &[f64]) -> Option<f64> {
        self.begun.as_ref().map(|(kernel, _)| kernel.diag(x))
    }
}

impl<F: Functions> BasisFile for Fixed<F> {
    fn kernel(&self) -> &KernelSpec {
        &self.kernel
    }

    fn write(&self, out: &mut Writer) {
        out.counts("basis.width", &[self.width().unwrap_or(0) as u64]);
        self.functions.write(out);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let [width] = from.counts("basis.width")?;
        let width = usize::try_from(width).unwrap_or(0);
        if width == 0 || width > 1_000_000 {
            return Err(Error::file("basis.width is no number of features"));
        }
        let kernel = self.kernel.resolve(width)?;
        self.functions.read(width, &kernel, from)?;
        self.begun = Some((kernel, width));
        Ok(())
    }
}
