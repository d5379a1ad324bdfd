//! Models of any kind, selected at run time, and their files.

mod forwarding;

use std::ops::{Deref, DerefMut};

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde_json::json;

use crate::basis::KnownBasis;
use crate::budget::{self, BudgetSpec, Budgeted};
use crate::error::{Error, Result};
use crate::experts::adaptive::{self, AdaptiveExperts};
use crate::experts::{self, Expert, Experts};
use crate::kernel::KernelSpec;
use crate::learner::{KnownLearner, LearnerSpec, Loss};
use crate::model::{CompleteModel, Evidence, InnerModel, Merge, PartOrder, no_evidence};
use crate::persist::{Persist, Reader, parse, parse_text};
use crate::stream::{self, AnyStream, Stream};
use crate::table::{self, Link, Table, TableSpec};
use crate::targets::{self, TargetModels};
use crate::uncertainty::Prequential;
use crate::validate::one_row;

/// Bandwidths of the usual experts, in units of the square root of the width, and their regularizations.
const BANDWIDTHS: [f64; 5] = [0.25, 0.5, 1.0, 2.0, 4.0];
const REGULARIZATIONS: [f64; 4] = [1e-4, 1e-3, 1e-2, 1e-1];

/// Most characters of a specification in `Debug` output: of a mixture it has those of all experts.
const LONGEST: usize = 400;

/// A model of any kind; it is [made](From) from a model of a kind that is known when the program is compiled, too.
///
/// What it can do is in [`Model`](crate::model::Model) and [`Persist`]. Its specification has a `kernel`, a `basis` and a
/// `learner`, or a `kernel` and a budgeted `learner`, which chooses the stored points itself, or a list of
/// such as `experts`, and their `mixture`, or `adaptive` with what is known of
/// experts that choose themselves; or any of these as `model`, with the `columns` and `labels` of a
/// [`Table`].
///
/// What it leaves out is as in Python: `{}` is `KernelRegressor(scale=False)`, `{"labels": {"classes": ["a", "b"]}}` is
/// `KernelClassifier(scale=False)`, whose learner is `gauss_newton`, and with `"columns": {}` beside it the columns are
/// standardized, as by `scale=True`. `{"adaptive": {}}` is `KernelExperts()`;
/// [`AnyModel::experts`] is `KernelExperts(presets.bandwidth_grid(width))`.
///
/// ```
/// use kernelstream::{AnyModel, Result};
///
/// # fn main() -> Result<()> {
/// let ridge = r#"{"basis": {"type": "ald", "tolerance": 1e-3}, "learner": {"type": "ridge"}}"#;
/// let kogd = r#"{"learner": {"type": "budgeted_gradient", "removal": {"project": 0.1}}}"#;
/// for spec in [ridge, kogd] {
///     let mut model = AnyModel::from_json(spec)?;
///     for t in 0..2000 {
///         let x = [f64::from(t * 37 % 100) / 50.0 - 1.0];
///         model.learn_one(&x, &[x[0]])?;
///     }
///     assert!((model.predict_one(&[0.5])?[0] - 0.5).abs() < 0.1);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AnyModel {
    /// A basis and a learner.
    Stream(Box<AnyStream>),
    /// A sum over stored points that can leave.
    Budgeted(Box<Budgeted>),
    /// A mixture of models.
    Experts(Box<Experts<AnyModel>>),
    /// A mixture of models that are found in the stream.
    Adaptive(Box<AdaptiveExperts>),
    /// A model of raw rows.
    Table(Box<Table<AnyModel>>),
    /// A model for each target, where rows lack some.
    Targets(Box<TargetModels<AnyModel>>),
}

impl AnyModel {
    /// An untrained model, from its specification in JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        Self::from_spec(parse_text("model", json)?)
    }

    /// Twenty experts that suit most standardized rows of this width: five bandwidths, a quarter to four times
    /// the square root of the width, with four regularizations each.
    pub fn experts(width: usize) -> Result<Self> {
        let root = (width as f64).sqrt();
        let expert = |(factor, regularization): (f64, f64)| {
            json!({
                "kernel": {"type": "gaussian", "bandwidth": factor * root},
                "basis": {"type": "ald", "tolerance": 1e-4, "max_size": 150},
                "learner": {"type": "ridge", "regularization": regularization},
            })
        };
        let pairs = BANDWIDTHS.into_iter().flat_map(|factor| REGULARIZATIONS.map(|value| (factor, value)));
        Self::from_spec(json!({"experts": pairs.map(expert).collect::<Vec<_>>()}))
    }

    /// The table, if it is one.
    #[must_use]
    pub fn as_table(&self) -> Option<&Table<Self>> {
        if let Self::Table(table) = self { Some(table) } else { None }
    }

    /// The stream of least squares that targets of numbers are learned by; `None` of any other model.
    #[must_use]
    pub fn as_process(&self) -> Option<&AnyStream> {
        match self {
            Self::Stream(model) => Some(model),
            Self::Table(table) if table.labels().is_none() => table.model().as_process(),
            _ => None,
        }
    }

    /// The model of features: of a table the one inside, and of models of targets the first.
    #[must_use]
    pub fn of_features(&self) -> &Self {
        match self {
            Self::Table(table) => table.model().of_features(),
            Self::Targets(targets) => targets.models()[0].of_features(),
            _ => self,
        }
    }

    /// The experts that choose themselves, if it is such or a table of them.
    #[must_use]
    pub fn as_adaptive(&self) -> Option<&AdaptiveExperts> {
        match self {
            Self::Adaptive(model) => Some(model),
            Self::Table(table) => table.model().as_adaptive(),
            _ => None,
        }
    }

    /// Rows so far whose target was learned winsorized; where each target has a model of its own,
    /// of the target with most.
    #[must_use]
    pub fn n_limited(&self) -> u64 {
        match self {
            Self::Stream(_) | Self::Budgeted(_) | Self::Experts(_) => 0,
            Self::Adaptive(model) => model.n_limited(),
            Self::Table(table) => table.n_limited().max(table.model().n_limited()),
            Self::Targets(targets) => targets.models().iter().map(Self::n_limited).max().unwrap_or(0),
        }
    }

    /// Outputs and targets, as they came, of the latest that were learned winsorized since the model
    /// was loaded, each once; of one output the latest last.
    #[must_use]
    pub fn latest_limited(&self) -> Vec<(usize, f64)> {
        match self {
            Self::Stream(_) | Self::Budgeted(_) | Self::Experts(_) => Vec::new(),
            Self::Adaptive(model) => model.latest_limited(),
            Self::Table(table) => [table.latest_limited(), table.model().latest_limited()].concat(),
            Self::Targets(targets) => {
                let each = targets.models().iter().enumerate();
                each.flat_map(|(c, model)| {
                    model.latest_limited().into_iter().map(move |(_, target)| (c, target))
                })
                .collect()
            }
        }
    }

    /// The models of single targets, if rows have lacked some.
    #[must_use]
    pub fn as_targets(&self) -> Option<&TargetModels<Self>> {
        if let Self::Targets(model) = self { Some(model) } else { None }
    }

    /// The model of the first target, if each has its own; the model itself otherwise.
    #[must_use]
    pub fn of_first_target(&self) -> &Self {
        self.as_targets().map_or(self, |targets| &targets.models()[0])
    }

    /// Checks rows as [`Model::check`](crate::model::Model::check), of which some may lack targets (NaN) that others have.
    pub fn check_known(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        if self.as_targets().is_some() {
            self.check(x, y, weights)
        } else {
            self.check(x, targets::filled(y, weights)?.view(), weights)
        }
    }

    /// Learns rows as [`Model::learn_prequential`](crate::model::Model::learn_prequential), of which some may lack targets (NaN) that others have: these count for
    /// the targets that they have. From the first such row on each target has a model of its own, see
    /// [`TargetModels`].
    ///
    /// ```
    /// use kernelstream::uncertainty::Prequential;
    /// use kernelstream::{AnyModel, Model as _, Result};
    /// use ndarray::Array2;
    ///
    /// # fn main() -> Result<()> {
    /// let x = Array2::from_shape_fn((900, 1), |(i, _)| (i as f64 * 0.618).fract() * 6.0);
    /// let y = Array2::from_shape_fn((900, 2), |(i, c)| match (i % 3, c) {
    ///     (0, 1) => f64::NAN,
    ///     (_, 0) => x[(i, 0)].sin(),
    ///     _ => x[(i, 0)].cos(),
    /// });
    /// let mut model = AnyModel::from_json("{}")?;
    /// model.learn_known(x.view(), y.view(), None, Prequential::default(), &mut |_| true)?;
    /// let both = model.predict_one(&[2.0])?;
    /// assert!((both[0] - 2.0_f64.sin()).abs() < 0.01 && (both[1] - 2.0_f64.cos()).abs() < 0.01);
    /// # Ok(())
    /// # }
    /// ```
    pub fn learn_known(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let first = if self.as_targets().is_some() { None } else { targets::first_partial(y, weights) };
        let Some(first) = first else {
            return self.learn_prequential(x, y, weights, prequential, should_continue);
        };
        self.check_known(x, y, weights)?;
        prequential.check(y.dim())?;
        let before = self.clone();
        let (n, head, rest) = (x.nrows(), s![..first, ..], s![first.., ..]);
        let of_head = weights.map(|weights| weights.slice_move(s![..first]));
        let of_rest = weights.map(|weights| weights.slice_move(s![first..]));
        let mut learn = || {
            let done = self.learn_prequential(
                x.slice(head),
                y.slice(head),
                of_head,
                prequential.rows(0..first),
                should_continue,
            )?;
            if done < first {
                return Ok(done);
            }
            *self = self.by_target(y.ncols()).into();
            let (prequential, mut should_continue) =
                (prequential.rows(first..n), |row| should_continue(first + row));
            let learned = self.learn_prequential(
                x.slice(rest),
                y.slice(rest),
                of_rest,
                prequential,
                &mut should_continue,
            );
            learned.map(|learned| first + learned).map_err(|error| error.shifted(first))
        };
        learn().inspect_err(|_| *self = before)
    }

    /// [`learn_known`](Self::learn_known) of one row.
    pub fn learn_one_known(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        if y.len() > 1 && y.iter().any(|value| value.is_nan()) {
            let prequential = Prequential::default();
            return self.learn_known(one_row(x), one_row(y), None, prequential, &mut |_| true).map(|_| ());
        }
        self.learn_one(x, y)
    }

    /// A model for each target.
    fn by_target(&self, n_targets: usize) -> TargetModels<Self> {
        self.as_targets().cloned().unwrap_or_else(|| TargetModels::of(self, n_targets))
    }

    /// The loss of the learner; `None` for a mixture.
    #[must_use]
    pub fn loss(&self) -> Option<Loss> {
        match self {
            Self::Stream(model) => Some(model.spec().learner.loss()),
            Self::Budgeted(model) => Some(model.spec().learner.loss()),
            Self::Experts(_) => None,
            Self::Adaptive(model) => Some(model.spec().loss),
            Self::Table(table) => table.model().loss(),
            Self::Targets(targets) => targets.models()[0].loss(),
        }
    }

    /// What the outputs of classes are if they are learned with this model's loss. Of Gauss-Newton steps, whose curvature is
    /// that of earlier margins, logarithms of odds are calibrated; other learners of the logistic loss are left as they
    /// are in the literature.
    fn link(&self) -> Option<Link> {
        let link = self.loss().and_then(Link::of);
        match self {
            Self::Stream(model) if matches!(model.spec().learner, LearnerSpec::GaussNewton(_)) => {
                match link {
                    Some(Link::Logistic) => Some(Link::CalibratedLogistic),
                    link => link,
                }
            }
            _ => link,
        }
    }

    /// A table from its specification; unless that has a link of outputs to probabilities, the loss determines it.
    fn table(mut spec: serde_json::Value) -> Result<Self> {
        if let Some(spec) = spec.as_object_mut() {
            spec.entry("model").or_insert_with(|| json!({}));
        }
        let mut spec = parse::<TableSpec>("model", spec)?;
        if let (Some(labels), Some(model)) = (&mut spec.labels, spec.model.as_object_mut()) {
            if let Some(adaptive) = model.get_mut("adaptive").and_then(serde_json::Value::as_object_mut) {
                adaptive.entry("loss").or_insert_with(|| json!("squared_hinge"));
                labels.link.get_or_insert(Link::Calibrated);
            } else if !model.contains_key("experts") {
                model.entry("learner").or_insert_with(|| json!({"type": "gauss_newton", "loss": "logistic"}));
            }
        }
        if let Some(labels) = spec.labels.as_mut().filter(|labels| labels.link.is_none()) {
            labels.link = Self::from_spec(spec.model.clone())?.link();
        }
        Ok(spec.build()?.into())
    }
}

impl AnyModel {
    /// Refuses a file whose numbers are finite and whose predictions are not.
    fn check_predictions(&self) -> Result<()> {
        let Some(width) = self.n_features() else { return Ok(()) };
        let x = Array2::from_shape_fn((2, width), |(i, _)| i as f64);
        match self.predict(x.view()) {
            Ok(made) if made.iter().any(|value| !value.is_finite()) => {
                Err(Error::file("its predictions are beyond double precision"))
            }
            _ => Ok(()),
        }
    }
}

impl Deref for AnyModel {
    type Target = dyn CompleteModel;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Stream(model) => &**model,
            Self::Budgeted(model) => &**model,
            Self::Experts(model) => &**model,
            Self::Adaptive(model) => &**model,
            Self::Table(model) => &**model,
            Self::Targets(model) => &**model,
        }
    }
}

impl DerefMut for AnyModel {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Stream(model) => &mut **model,
            Self::Budgeted(model) => &mut **model,
            Self::Experts(model) => &mut **model,
            Self::Adaptive(model) => &mut **model,
            Self::Table(model) => &mut **model,
            Self::Targets(model) => &mut **model,
        }
    }
}

impl InnerModel for AnyModel {
    fn chosen(
        &self,
        by: Evidence,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<Self> {
        match self {
            Self::Stream(model) => Ok(model.chosen(by, x, y, weights)?.into()),
            _ => Err(no_evidence()),
        }
    }

    fn is_spoiled_by_outliers(&self) -> bool {
        let interpolates = |model: &AnyStream| matches!(model.spec().learner, LearnerSpec::Interpolation(_));
        match self {
            Self::Stream(model) if interpolates(model) => false,
            Self::Stream(_) | Self::Budgeted(_) => {
                matches!(self.loss(), Some(Loss::Squared | Loss::HalfSquared))
            }
            Self::Experts(model) => model.models().all(Self::is_spoiled_by_outliers),
            Self::Adaptive(_) | Self::Table(_) | Self::Targets(_) => false,
        }
    }

    fn gives_odds(&self) -> bool {
        if let Self::Adaptive(model) = self { model.gives_odds() } else { false }
    }
}

impl Expert for AnyModel {
    fn as_stream(&self) -> Option<&AnyStream> {
        if let Self::Stream(model) = self { Some(model) } else { None }
    }

    fn as_stream_mut(&mut self) -> Option<&mut AnyStream> {
        if let Self::Stream(model) = self { Some(model) } else { None }
    }
}

impl<B: KnownBasis, L: KnownLearner> From<Stream<B, L>> for AnyModel {
    fn from(model: Stream<B, L>) -> Self {
        Self::Stream(Box::new(model.into_any()))
    }
}

impl From<Budgeted> for AnyModel {
    fn from(model: Budgeted) -> Self {
        Self::Budgeted(Box::new(model))
    }
}

impl From<Experts<Self>> for AnyModel {
    fn from(model: Experts<Self>) -> Self {
        Self::Experts(Box::new(model))
    }
}

impl From<AdaptiveExperts> for AnyModel {
    fn from(model: AdaptiveExperts) -> Self {
        Self::Adaptive(Box::new(model))
    }
}

impl From<Table<Self>> for AnyModel {
    fn from(model: Table<Self>) -> Self {
        Self::Table(Box::new(model))
    }
}

impl From<TargetModels<Self>> for AnyModel {
    fn from(model: TargetModels<Self>) -> Self {
        Self::Targets(Box::new(model))
    }
}

impl std::fmt::Debug for AnyModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut spec = self.spec_json().map_err(|_| std::fmt::Error)?.to_string();
        if let Some((end, _)) = spec.char_indices().nth(LONGEST) {
            spec.replace_range(end.., "...");
        }
        write!(f, "Model({spec}, n_seen: {}, n_stored: {})", self.n_seen(), self.n_stored())
    }
}

impl Persist for AnyModel {
    fn from_spec(mut spec: serde_json::Value) -> Result<Self> {
        let inside = spec.get("model").into_iter().chain(spec.get("experts").into_iter().flat_map(each_of));
        if inside.into_iter().any(|model| model.get(targets::COUNT).is_some()) {
            return Err(broken("models of targets inside a model".into()));
        }
        if spec.get(targets::COUNT).is_some() {
            return Ok(TargetModels::from_spec(spec)?.into());
        }
        if ["model", "columns", "labels"].iter().any(|part| spec.get(part).is_some()) {
            return Self::table(spec);
        }
        if spec.get("experts").is_some() {
            return Ok(Experts::from_spec(spec)?.into());
        }
        if spec.get("adaptive").is_some() {
            return Ok(AdaptiveExperts::from_spec(spec)?.into());
        }
        let kind = spec.pointer("/learner/type").and_then(serde_json::Value::as_str);
        if !kind.is_some_and(BudgetSpec::is_kind) {
            return Ok(AnyStream::from_spec(spec)?.into());
        }
        let basis = spec.as_object_mut().and_then(|spec| spec.remove("basis"));
        if basis.is_some_and(|basis| !basis.is_null()) {
            return Err(broken(
                "a budgeted learner chooses the stored points itself: leave the basis out".into(),
            ));
        }
        Ok(Budgeted::from_spec(spec)?.into())
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        match self {
            Self::Stream(model) => model.spec_json(),
            Self::Budgeted(model) => model.spec_json(),
            Self::Experts(model) => model.spec_json(),
            Self::Adaptive(model) => model.spec_json(),
            Self::Table(model) => model.spec_json(),
            Self::Targets(model) => model.spec_json(),
        }
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        match self {
            Self::Stream(model) => model.to_bytes(extra),
            Self::Budgeted(model) => model.to_bytes(extra),
            Self::Experts(model) => model.to_bytes(extra),
            Self::Adaptive(model) => model.to_bytes(extra),
            Self::Table(model) => model.to_bytes(extra),
            Self::Targets(model) => model.to_bytes(extra),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let (model, extra) = match Reader::open(bytes)?.kind() {
            stream::KIND => read::<AnyStream>(bytes)?,
            budget::KIND => read::<Budgeted>(bytes)?,
            experts::KIND => read::<Experts<Self>>(bytes)?,
            adaptive::KIND => read::<AdaptiveExperts>(bytes)?,
            table::KIND => read::<Table<Self>>(bytes)?,
            targets::KIND => read::<TargetModels<Self>>(bytes)?,
            other => return Err(Error::file(format!("it holds a model of another kind, {other:?}"))),
        };
        model.check_predictions()?;
        Ok((model, extra))
    }
}

/// A model of a kind that is known from its file.
fn read<M: Persist + Into<AnyModel>>(bytes: &[u8]) -> Result<(AnyModel, serde_json::Value)> {
    M::from_bytes(bytes).map(|(model, extra)| (model.into(), extra))
}

impl Merge for AnyModel {
    fn has_begun(&self) -> bool {
        self.n_outputs().is_some()
    }

    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()> {
        match (self, other) {
            (Self::Stream(model), Self::Stream(other)) => model.check_merge(other, order),
            (Self::Table(model), Self::Table(other)) => model.check_merge(other, order),
            (Self::Targets(model), other) => model.check_merge(&other.by_target(model.models().len()), order),
            (model, Self::Targets(other)) => model.by_target(other.models().len()).check_merge(other, order),
            (Self::Stream(_) | Self::Table(_), _) => Err(other_kinds()),
            (Self::Budgeted(_) | Self::Experts(_) | Self::Adaptive(_), _) => Err(self.does_not_add()),
        }
    }

    fn sum(parts: &[&Self], order: PartOrder) -> Result<Self> {
        if let Some(count) = parts.iter().find_map(|part| Some(part.as_targets()?.models().len())) {
            let each: Vec<_> = parts.iter().map(|part| part.by_target(count)).collect();
            let sum = TargetModels::sum(&each.iter().collect::<Vec<_>>(), order)?;
            return Ok(sum.into());
        }
        Ok(match parts.first() {
            Some(Self::Table(_)) => Table::sum(&all_alike(parts, Self::as_table)?, order)?.into(),
            _ => AnyStream::sum(&all_alike(parts, Self::as_stream)?, order)?.into(),
        })
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        match self {
            Self::Stream(model) => model.freeze_dictionary(),
            Self::Table(model) => model.freeze_dictionary(),
            Self::Targets(model) => model.freeze_dictionary(),
            Self::Budgeted(_) | Self::Experts(_) | Self::Adaptive(_) => Err(self.does_not_add()),
        }
    }
}

impl AnyModel {
    fn does_not_add(&self) -> Error {
        let what = if matches!(self, Self::Experts(_) | Self::Adaptive(_)) {
            "the weights of experts"
        } else {
            "the points of a budgeted learner"
        };
        Error::merge(format!("{what} depend on the order of the rows; a single model of ridge adds up"))
    }
}

/// The others as models of one kind.
fn all_alike<'a, M>(others: &[&'a AnyModel], kind: fn(&'a AnyModel) -> Option<&'a M>) -> Result<Vec<&'a M>> {
    others.iter().map(|other| kind(other)).collect::<Option<_>>().ok_or_else(other_kinds)
}

/// The specifications in a list; none of anything else.
fn each_of(list: &serde_json::Value) -> impl Iterator<Item = &serde_json::Value> {
    list.as_array().into_iter().flatten()
}

fn other_kinds() -> Error {
    Error::merge("the models are of different kinds")
}

fn broken(reason: String) -> Error {
    Error::Specification { part: "model", reason }
}

/// Refuses a specification of a learner, budgeted or not, that has a bad parameter.
pub fn check_learner(json: &str) -> Result<()> {
    let spec: serde_json::Value = parse_text("learner", json)?;
    if spec["type"].as_str().is_some_and(BudgetSpec::is_kind) {
        Budgeted::new(KernelSpec::default(), parse("learner", spec)?).map(|_| ())
    } else {
        parse::<LearnerSpec>("learner", spec)?.build().map(|_| ())
    }
}
